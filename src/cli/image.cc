// `paddock image`: import, ls, rm.
#include "store/image.h"

#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "record/own_log.h"
#include "store/import.h"

namespace paddock::cli {

namespace {

Value to_value(const store::Image& image) {
  Value value;
  value.set("name", image.name);
  value.set("root", image.root);
  value.set("source", image.source);
  value.set("bytes", image.bytes);
  value.set("files", image.files);
  value.set("layers", image.layers);
  value.set("imported_seconds", image.imported_seconds);
  return value;
}

Result<void> record(const char* act, const std::string& name, const std::string& file,
                    Event& recorded) {
  Value data;
  data.set("name", name);
  if (!file.empty()) data.set("file", file);
  return record::record_act(act, std::move(data), &recorded);
}

// One line that overwrites itself.
void show_progress(const store::UnpackReport& unpacked) {
  print_error(
      cat("\r\x1b[Kunpacking: ", human_size(unpacked.bytes), ", ", unpacked.entries, " files"));
}

int import_main(int argc, char** argv) {
  bool json = false;
  std::string name, file, max_size;
  Options options("image import",
                  "Makes an image out of a tarball, a `docker save` archive or an OCI layout.");
  options.text("--max-size", "SIZE", &max_size,
               "refuse more than this once unpacked (default 20G)");
  options.flag("--json", &json, "print one JSON object");
  options.positional("NAME", &name, "what to call it");
  options.positional("FILE", &file, "the file or directory to read");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;

  store::ImportOptions import_options;
  if (!max_size.empty()) {
    Result<uint64_t> size = parse_size(max_size);
    if (!size) return report(size.error(), json);
    import_options.limits.bytes = size.value();
  }
  Event act;
  Result<void> recorded = record("image.import", name, file, act);
  if (!recorded) return report(recorded.error(), json);
  bool shows_progress = !json && ::isatty(STDERR_FILENO);
  if (shows_progress) import_options.progress = show_progress;
  Result<store::Imported> imported = store::import_image(name, file, import_options);
  if (shows_progress) print_error("\r\x1b[K");
  if (!imported) record::note_failure(act, imported.error());
  if (!imported) return report(imported.error(), json);
  if (json) {
    Value value = to_value(imported.value().image);
    Value::Array notes;
    for (const std::string& note : imported.value().notes) notes.emplace_back(note);
    value.set("notes", std::move(notes));
    print(to_json(value) + "\n");
    return 0;
  }
  const store::Image& image = imported.value().image;
  std::string layers = image.layers ? cat(", ", image.layers, " layers") : "";
  print(cat("imported ", image.name, ": ", human_size(image.bytes), ", ", image.files, " files",
            layers, "\n"));
  for (const std::string& note : imported.value().notes) print(cat("  note: ", note, "\n"));
  print(cat("try it: paddock run --root ", image.name, " -- /bin/sh -c 'cat /etc/os-release'\n"));
  return 0;
}

int list_main(int argc, char** argv) {
  bool json = false;
  Options options("image ls", "Lists the images.");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<std::vector<store::Image>> images = store::list_images();
  if (!images) return report(images.error(), json);
  Value::Array items;
  size_t width = 0;
  for (const store::Image& image : images.value()) {
    items.push_back(to_value(image));
    width = std::max(width, image.name.size());
  }
  if (json) {
    Value all;
    all.set("images", std::move(items));
    print(to_json(all) + "\n");
    return 0;
  }
  if (images.value().empty()) print("no images; make one with: paddock image import NAME FILE\n");
  for (const store::Image& image : images.value()) {
    std::string name = image.name, size = human_size(image.bytes);
    name.resize(width + 2, ' ');
    size.resize(9, ' ');
    print(cat(name, size, printable(image.source), "\n"));
  }
  return 0;
}

int remove_main(int argc, char** argv) {
  bool json = false;
  std::string name;
  Options options("image rm", "Removes an image.");
  options.flag("--json", &json, "print one JSON object");
  options.positional("NAME", &name, "the image");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Event act;
  Result<void> recorded = record("image.rm", name, "", act);
  if (!recorded) return report(recorded.error(), json);
  Result<void> removed = store::remove_image(name);
  if (!removed) record::note_failure(act, removed.error());
  if (!removed) return report(removed.error(), json);
  if (json) {
    Value value;
    value.set("removed", name);
    print(to_json(value) + "\n");
  } else {
    print(cat("removed ", name, "\n"));
  }
  return 0;
}

}  // namespace

int image_main(int argc, char** argv) {
  std::string word = argc > 1 ? argv[1] : "";
  if (word == "import") return import_main(argc - 1, argv + 1);
  if (word == "ls") return list_main(argc - 1, argv + 1);
  if (word == "rm") return remove_main(argc - 1, argv + 1);
  bool asked = word == "--help" || word == "-h";
  std::string usage =
      "usage: paddock image import NAME FILE [--max-size SIZE]\n       paddock image ls\n       "
      "paddock image rm NAME\n";
  if (asked)
    print(usage);
  else
    print_error(usage);
  return asked ? 0 : kFailed;
}

}  // namespace paddock::cli

// `paddock image`: import, ls, rm.
#include "store/image.h"

#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/recorded.h"
#include "cli/table.h"
#include "store/import.h"

namespace paddock::cli {

namespace {

Value to_value(const store::Image& image) {
  return Value::Object{{"name", image.name},
                       {"root", image.root},
                       {"source", image.source},
                       {"bytes", image.bytes},
                       {"files", image.files},
                       {"layers", image.layers},
                       {"imported_seconds", image.imported_seconds}};
}

// One line that overwrites itself.
void show_unpacked(const store::UnpackReport& unpacked) {
  print_error(
      cat("\r\x1b[Kunpacking: ", human_size(unpacked.bytes), ", ", unpacked.entries, " files"));
}

// Ends with a command to try the image with.
std::string describe(const store::Imported& imported) {
  const store::Image& image = imported.image;
  std::string layers = image.layers ? cat(", ", image.layers, " layers") : "";
  std::string text = cat("imported ", image.name, ": ", human_size(image.bytes), ", ", image.files,
                         " files", layers, "\n");
  for (const std::string& note : imported.notes) text += cat("  note: ", note, "\n");
  return cat(text, "try it: paddock run --root ", image.name,
             " -- /bin/sh -c 'cat /etc/os-release'\n");
}

// The line of progress is removed before anything else is printed.
int import_image(int argc, char** argv) {
  std::string name, file, max_size;
  Options options("image import",
                  "Makes an image out of a tarball, a `docker save` archive or an OCI layout.");
  options.text("--max-size", "SIZE", &max_size,
               "refuse more than this once unpacked (default 20G)");
  options.positional("NAME", &name, "what to call it");
  options.positional("FILE", &file, "the file or directory to read");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    store::ImportOptions how;
    if (!max_size.empty()) how.limits.bytes = TRY(parse_size(max_size));
    bool shows_progress = !json && ::isatty(STDERR_FILENO);
    if (shows_progress) how.progress = show_unpacked;
    store::Imported imported =
        TRY(recorded("image.import", Value::Object{{"name", name}, {"file", file}}, [&] {
          Result<store::Imported> done = store::import_image(name, file, how);
          if (shows_progress) print_error("\r\x1b[K");
          return done;
        }));
    Value value = to_value(imported.image);
    value.set("notes", text_list(imported.notes));
    return show(json, value, describe(imported));
  });
}

int list_images(int argc, char** argv) {
  Options options("image ls", "Lists the images.");
  return options.run(argc, argv, [](bool json) -> Result<int> {
    Value::Array items;
    std::vector<std::vector<Cell>> rows;
    for (const store::Image& image : TRY(store::list_images())) {
      items.push_back(to_value(image));
      rows.push_back({{image.name}, {human_size(image.bytes)}, {printable(image.source)}});
    }
    if (json) return show(json, Value::Object{{"images", std::move(items)}}, "");
    print_table({{.heading = "NAME"}, {.heading = "SIZE", .right = true}, {.heading = "SOURCE"}},
                rows, "no images; make one with: paddock image import NAME FILE\n");
    return 0;
  });
}

int remove_image(int argc, char** argv) {
  std::string name;
  Options options("image rm", "Removes an image.");
  options.positional("NAME", &name, "the image");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    TRY(recorded("image.rm", Value::Object{{"name", name}},
                 [&] { return store::remove_image(name); }));
    return show(json, Value::Object{{"removed", name}}, cat("removed ", name, "\n"));
  });
}

constexpr Verb kImageVerbs[] = {
    {"import", import_image, "make an image out of a tarball or an archive of docker"},
    {"ls", list_images, "list the images"},
    {"rm", remove_image, "remove an image"},
};

}  // namespace

int image_main(int argc, char** argv) { return run_verb("image", kImageVerbs, argc, argv); }

}  // namespace paddock::cli

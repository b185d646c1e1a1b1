#include "store/image.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/random_name.h"
#include "base/text.h"
#include "base/value.h"
#include "linux/tree.h"
#include "store/state.h"

namespace paddock::store {

namespace {

Error unknown(const std::string& name) {
  return Error{Code::not_found,
               cat("find image '", printable(name), "': there is none of that name"),
               "make one with: paddock image import NAME FILE"};
}

uint64_t number(const Value& meta, const char* key) {
  const Value* member = meta.find(key);
  return member && member->as_int() ? static_cast<uint64_t>(*member->as_int()) : 0;
}

// What is written down is for people; an image without it still runs.
void read_meta(int directory, Image& image) {
  Result<Fd> file = kernel::open_beneath(directory, "image.json", O_RDONLY);
  if (!file) return;
  Result<std::string> text = read_all(file.value().get(), 1 << 20);
  if (!text) return;
  Result<Value> meta = parse_json(text.value(), "image.json");
  if (!meta) return;
  const Value* source = meta.value().find("source");
  if (source && source->as_string()) image.source = *source->as_string();
  image.bytes = number(meta.value(), "bytes");
  image.files = number(meta.value(), "files");
  image.layers = number(meta.value(), "layers");
  image.imported_seconds = static_cast<int64_t>(number(meta.value(), "imported_seconds"));
}

}  // namespace

bool is_image_name(const std::string& name) {
  if (name.empty() || name.size() > 128 || name[0] == '.' || name[0] == '_' || name[0] == '-')
    return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string::npos;
}

Result<Image> find_image(const std::string& name) {
  if (!is_image_name(name)) return unknown(name);
  StateDirectory images = TRY(open_state("images"));
  Result<Fd> directory = kernel::open_beneath(images.fd.get(), name, O_RDONLY | O_DIRECTORY);
  if (!directory || !kernel::open_beneath(directory.value().get(), "rootfs", O_PATH | O_DIRECTORY))
    return unknown(name);
  Image image;
  image.name = name;
  image.root = cat(images.path, "/", name, "/rootfs");
  read_meta(directory.value().get(), image);
  return image;
}

Result<std::vector<Image>> list_images() {
  StateDirectory state = TRY(open_state("images"));
  std::vector<Image> images;
  for (const std::string& name : TRY(kernel::list_directory(state.fd.get()))) {
    Result<Image> image = find_image(name);
    if (image) images.push_back(std::move(image).value());
  }
  return images;
}

Result<void> remove_image(const std::string& name) {
  Image image = TRY(find_image(name));
  StateDirectory state = TRY(open_state("images"));
  // Out of sight at once, so that nobody starts from half an image.
  std::string gone = cat(".gone-", TRY(random_name(10)));
  if (::renameat(state.fd.get(), image.name.c_str(), state.fd.get(), gone.c_str()) != 0)
    return errno_error(errno, cat("remove image '", name, "'"));
  return kernel::remove_tree(state.fd.get(), gone);
}

std::string image_meta(const Image& image) {
  Value meta;
  meta.set("version", 1);
  meta.set("name", image.name);
  meta.set("source", image.source);
  meta.set("bytes", image.bytes);
  meta.set("files", image.files);
  meta.set("layers", image.layers);
  meta.set("imported_seconds", image.imported_seconds);
  return to_json(meta, true) + "\n";
}

Result<void> sweep_images(int images) {
  for (const std::string& name : TRY(kernel::list_directory(images))) {
    size_t dash = name.find('-') + 1;  // 0 without one
    std::string prefix = name.substr(0, dash);
    if ((prefix != ".import-" && prefix != ".gone-") || !is_random_name(name.substr(dash), 10))
      continue;
    Result<Fd> directory = kernel::open_beneath(images, name, O_RDONLY | O_DIRECTORY);
    if (directory && ::flock(directory.value().get(), LOCK_EX | LOCK_NB) != 0) continue;
    (void)kernel::remove_tree(images, name);
  }
  return {};
}

}  // namespace paddock::store

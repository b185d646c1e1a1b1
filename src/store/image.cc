#include "store/image.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/random_name.h"
#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "linux/tree.h"
#include "store/state.h"

namespace paddock::store {

namespace {

// A malformed name gets the same answer as one that is unknown.
Error unknown(const std::string& name) {
  return Error{Code::not_found,
               cat("find image '", printable(name), "': there is none of that name"),
               "make one with: paddock image import NAME FILE"};
}

constexpr auto kImageFields = std::make_tuple(
    field("name", &Image::name), field("source", &Image::source), field("bytes", &Image::bytes),
    field("files", &Image::files), field("layers", &Image::layers),
    field("imported_seconds", &Image::imported_seconds));

// What is written down is for people; an image without it still runs.
void read_meta(int directory, Image& image) {
  Result<Fd> file = kernel::open_beneath(directory, "image.json", O_RDONLY);
  Result<std::string> text =
      file ? read_all(file.value().get(), 1 << 20) : Result<std::string>(file.error());
  Result<Value> meta = text ? parse_json(text.value(), "image.json") : Result<Value>(text.error());
  if (meta) (void)read_record(kImageFields, meta.value(), image, "image.json");
}

}  // namespace

// A name is a directory in the state, and must not begin like a temporary one.
bool is_image_name(const std::string& name) {
  if (name.empty() || name.size() > 128 || name[0] == '.' || name[0] == '_' || name[0] == '-')
    return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string::npos;
}

// The root must be there; the rest is only for people.
Result<Image> find_image(const std::string& name) {
  if (!is_image_name(name)) return unknown(name);
  StateDirectory images = TRY(open_state("images"));
  Result<Fd> directory = kernel::open_beneath(images.fd.get(), name, O_RDONLY | O_DIRECTORY);
  if (!directory || !kernel::open_beneath(directory.value().get(), "rootfs", O_PATH | O_DIRECTORY))
    return unknown(name);
  Image image;
  image.root = cat(images.path, "/", name, "/rootfs");
  read_meta(directory.value().get(), image);
  image.name = name;
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
  // Out of sight at once, so that no sandbox starts from half an image.
  std::string gone = cat(".gone-", TRY(random_name(10)));
  if (::renameat(state.fd.get(), image.name.c_str(), state.fd.get(), gone.c_str()) != 0)
    return errno_error(errno, cat("remove image '", name, "'"));
  return kernel::remove_tree(state.fd.get(), gone);
}

std::string image_meta(const Image& image) {
  Value meta = Value::Object{{"version", 1}};
  write_fields(kImageFields, image, meta);
  return to_json(meta, true) + "\n";
}

// What is locked is in use by somebody. The names are checked, so that nothing else is removed.
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

#include "store/layout.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/text.h"
#include "base/value.h"
#include "linux/tree.h"

namespace paddock::store {

namespace {

// In bytes.
constexpr size_t kLargestManifest = 4 << 20;
constexpr size_t kMostLayers = 512;
constexpr int kDeepestIndex = 4;

#if defined(__x86_64__)
constexpr char kMachine[] = "amd64";
#elif defined(__aarch64__)
constexpr char kMachine[] = "arm64";
#else
constexpr char kMachine[] = "unknown";
#endif

Error wrong(const std::string& why) {
  return Error{Code::invalid, cat("read the image layout: ", why), ""};
}

// Links are followed inside the layout only: `docker save` shares layers by links.
Result<Fd> open_part(int directory, const std::string& path) {
  Fd file = TRY(kernel::open_as_root(directory, path, O_RDONLY | O_NONBLOCK));
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return errno_error(errno, "stat");
  if (!S_ISREG(info.st_mode)) return wrong(cat("'", printable(path), "' is no file"));
  return file;
}

// The content must be what the manifest names, since the blobs may come from anywhere.
Result<void> verify(int file, const std::string& digest) {
  std::string found = cat("sha256:", TRY(sha256_of(file)));
  if (found == digest) return {};
  return Error{
      Code::invalid,
      cat("read the image layout: ", printable(digest), " has another content (", found, ")"),
      "the image is damaged or was tampered with: fetch it again"};
}

// The digest becomes part of a path, so its form is checked first.
Result<Fd> open_blob(int directory, const std::string& digest) {
  bool well_formed = starts_with(digest, "sha256:") && digest.size() == 71 &&
                     digest.find_first_not_of("0123456789abcdef", 7) == std::string::npos;
  if (!well_formed) return wrong(cat("'", printable(digest), "' is no sha256 digest"));
  Fd blob = TRY(open_part(directory, cat("blobs/sha256/", digest.substr(7))));
  TRY(verify(blob.get(), digest));
  return blob;
}

Result<Value> read_json(int file, const std::string& name) {
  return parse_json(TRY(read_all(file, kLargestManifest)), name);
}

// The JSON comes from outside: a member that is missing or of another type reads as empty.
std::string text_of(const Value* value) {
  return value && value->as_string() ? *value->as_string() : "";
}

const Value::Array& list_of(const Value* value) {
  static const Value::Array kNone;
  return value && value->as_array() ? *value->as_array() : kNone;
}

// Attestations and images for other machines are passed over. An entry without a platform counts.
bool is_for_this_machine(const Value& manifest) {
  const Value* platform = manifest.find("platform");
  return !platform || (text_of(platform->find("os")) == "linux" &&
                       text_of(platform->find("architecture")) == kMachine);
}

// Several images for this machine are refused: nobody said which one is meant.
Result<std::string> choose(const Value& index) {
  std::string chosen;
  for (const Value& manifest : list_of(index.find("manifests"))) {
    std::string digest = text_of(manifest.find("digest"));
    if (!is_for_this_machine(manifest) || digest == chosen) continue;
    if (!chosen.empty()) return wrong("it holds several images: save just one");
    chosen = digest;
  }
  if (chosen.empty()) return wrong(cat("it holds no image for linux/", kMachine));
  return chosen;
}

// Follows nested indexes down to the one manifest for this machine.
Result<std::vector<Fd>> open_oci(int directory) {
  Fd file = TRY(open_part(directory, "index.json"));
  Value document = TRY(read_json(file.get(), "index.json"));
  for (int depth = 0; document.find("manifests"); ++depth) {  // an index may hold an index
    if (depth == kDeepestIndex) return wrong("indexes within indexes");
    std::string digest = TRY(choose(document));
    Fd blob = TRY(open_blob(directory, digest));
    document = TRY(read_json(blob.get(), digest));
  }
  std::vector<Fd> layers;
  for (const Value& layer : list_of(document.find("layers"))) {
    if (layers.size() == kMostLayers) return wrong("too many layers");
    layers.push_back(TRY(open_blob(directory, text_of(layer.find("digest")))));
  }
  if (layers.empty()) return wrong("an image without layers");
  return layers;
}

// manifest.json of `docker save`: a list of images, each with a config that knows the hash of every
// layer.
Result<std::vector<Fd>> open_docker(int directory, const Value& manifest) {
  if (list_of(&manifest).size() != 1) return wrong("it holds several images: save just one");
  const Value& image = list_of(&manifest)[0];
  Fd file = TRY(open_part(directory, text_of(image.find("Config"))));
  Value config = TRY(read_json(file.get(), "the image's config"));
  const Value* rootfs = config.find("rootfs");
  const Value::Array& hashes = list_of(rootfs ? rootfs->find("diff_ids") : nullptr);
  const Value::Array& paths = list_of(image.find("Layers"));
  if (paths.size() != hashes.size() || paths.empty() || paths.size() > kMostLayers)
    return wrong("layers and their hashes do not match");
  std::vector<Fd> layers;
  for (size_t i = 0; i < paths.size(); ++i) {
    layers.push_back(TRY(open_part(directory, text_of(&paths[i]))));
    TRY(verify(layers.back().get(), text_of(&hashes[i])));
  }
  return layers;
}

}  // namespace

// Returns nothing if the directory is not a layout, and an error if it is a broken one.
Result<std::optional<std::vector<Fd>>> open_layers(int directory) {
  using Layers = std::optional<std::vector<Fd>>;
  if (open_part(directory, "oci-layout") && open_part(directory, "index.json"))
    return Layers(TRY(open_oci(directory)));
  Result<Fd> file = open_part(directory, "manifest.json");
  if (!file) return Layers();
  Result<Value> manifest = read_json(file.value().get(), "manifest.json");
  if (!manifest || list_of(&manifest.value()).empty() ||
      !list_of(&manifest.value())[0].find("Layers"))
    return Layers();
  return Layers(TRY(open_docker(directory, manifest.value())));
}

}  // namespace paddock::store

#include "store/import.h"

#include <archive.h>
#include <archive_entry.h>

#include "base/digest.h"
#include "store/store_test.h"
#include "store/tar_test.h"

namespace paddock::store {
namespace {

// One stream, gzipped.
std::string gzip(const std::string& bytes) {
  std::string packed(bytes.size() + 4096, '\0');
  size_t used = 0;
  archive* writer = ::archive_write_new();
  (void)::archive_write_add_filter_gzip(writer);
  (void)::archive_write_set_format_raw(writer);
  (void)::archive_write_open_memory(writer, packed.data(), packed.size(), &used);
  archive_entry* entry = ::archive_entry_new();
  ::archive_entry_set_filetype(entry, AE_IFREG);
  (void)::archive_write_header(writer, entry);
  (void)::archive_write_data(writer, bytes.data(), bytes.size());
  ::archive_entry_free(entry);
  (void)::archive_write_free(writer);
  packed.resize(used);
  return packed;
}

class ImportTest : public StoreTest {
 protected:
  std::string hash(const std::string& bytes) {
    write("hashed", bytes);
    return sha256_of(open_file(at("hashed"), O_RDONLY).value().get()).value();
  }
  // Adds a blob to an OCI layout in the directory `layout` and returns its digest.
  std::string blob(const std::string& bytes) {
    std::string name = hash(bytes);
    write("layout/blobs/sha256/" + name, bytes);
    return "sha256:" + name;
  }
  void make_layout(const std::vector<std::string>& layers) {
    make("layout");
    make("layout/blobs");
    make("layout/blobs/sha256");
    write("layout/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
    std::string list;
    for (const std::string& layer : layers)
      list += cat(list.empty() ? "" : ",", R"({"digest":")", blob(layer), R"("})");
    std::string manifest = blob(cat(R"({"schemaVersion":2,"layers":[)", list, "]}"));
    std::string other = blob(R"({"layers":[]})");
    write("layout/index.json",
          cat(R"({"manifests":[{"digest":")", other,
              R"(","platform":{"os":"unknown","architecture":"unknown"}},{"digest":")", manifest,
              R"("}]})"));
  }
  std::string import(const std::string& name, const std::string& file,
                     const UnpackLimits& limits = {}) {
    Result<Imported> imported = import_image(name, at(file), {.limits = limits});
    if (imported) notes_ = imported.value().notes;
    return imported ? "" : imported.error().message;
  }
  std::vector<std::string> images() { return names("state/images"); }

  std::string lower_ =
      Tar().add({.name = "etc/a", .content = "a"}).add({.name = "etc/b", .content = "b"}).bytes();
  std::string upper_ =
      Tar().add({.name = "etc/.wh.a"}).add({.name = "etc/b", .content = "changed"}).bytes();
  std::vector<std::string> notes_;
};

TEST_F(ImportTest, ImportsAPlainTarball) {
  write("root.tar.gz", gzip(Tar()
                                .add({.name = "etc/os-release", .content = "x"})
                                .add({.name = "dev/null", .type = '3'})
                                .bytes()));
  EXPECT_EQ(import("small-1.0", "root.tar.gz"), "");
  Image image = find_image("small-1.0").value();
  EXPECT_EQ(image.root, at("state/images/small-1.0/rootfs"));
  EXPECT_EQ(image.source, "root.tar.gz");
  EXPECT_EQ(image.bytes, 1u);
  EXPECT_EQ(read("state/images/small-1.0/rootfs/etc/os-release"), "x");
  EXPECT_EQ(notes_.size(), 1u);
  EXPECT_EQ(images(), std::vector<std::string>{"small-1.0"});
  EXPECT_EQ(list_images().value().size(), 1u);
  EXPECT_TRUE(remove_image("small-1.0"));
  EXPECT_TRUE(images().empty());
}

TEST_F(ImportTest, StacksTheLayersOfAnOciLayout) {
  make_layout({gzip(lower_), upper_});
  EXPECT_EQ(import("oci", "layout"), "");
  EXPECT_EQ(names("state/images/oci/rootfs/etc"), std::vector<std::string>{"b"});
  EXPECT_EQ(read("state/images/oci/rootfs/etc/b"), "changed");
  EXPECT_EQ(find_image("oci").value().layers, 2u);
}

TEST_F(ImportTest, ImportsATarballOfAnOciLayout) {
  make_layout({lower_, upper_});
  ASSERT_EQ(std::system(cat("tar -C ", at("layout"), " -cf ", at("oci.tar"), " .").c_str()), 0);
  EXPECT_EQ(import("oci", "oci.tar"), "");
  EXPECT_EQ(names("state/images/oci"), (std::vector<std::string>{"image.json", "rootfs"}));
  EXPECT_EQ(read("state/images/oci/rootfs/etc/b"), "changed");
}

TEST_F(ImportTest, ImportsWhatDockerSaves) {
  std::string config = cat(R"({"rootfs":{"diff_ids":["sha256:)", hash(lower_), R"(","sha256:)",
                           hash(upper_), R"("]}})");
  Tar tar;
  tar.add({.name = "c.json", .content = config}).add({.name = "1/layer.tar", .content = lower_});
  tar.add({.name = "x/layer.tar", .content = upper_});
  tar.add({.name = "2/layer.tar", .type = '2', .target = "../x/layer.tar"});
  tar.add({.name = "manifest.json",
           .content = R"([{"Config":"c.json","Layers":["1/layer.tar","2/layer.tar"]}])"});
  write("docker.tar", tar.bytes());
  EXPECT_EQ(import("d", "docker.tar"), "");
  EXPECT_EQ(read("state/images/d/rootfs/etc/b"), "changed");
}

TEST_F(ImportTest, RefusesALayerWithAnotherHash) {
  make_layout({lower_});
  write("layout/blobs/sha256/" + hash(lower_), upper_);
  EXPECT_NE(import("oci", "layout").find("another content"), std::string::npos);
  EXPECT_TRUE(images().empty());
}

TEST_F(ImportTest, RefusesALayoutThatPointsOutside) {
  make("layout");
  write("layout/oci-layout", "{}");
  write("secret", R"({"manifests":[]})");
  link("../secret", "layout/index.json");
  EXPECT_NE(import("oci", "layout"), "");
  ASSERT_EQ(::unlink(at("layout/index.json").c_str()), 0);
  write("layout/index.json", R"({"manifests":[{"digest":"sha256:../../../secret"}]})");
  EXPECT_NE(import("oci", "layout").find("no sha256 digest"), std::string::npos);
}

TEST_F(ImportTest, AHostileLayerLeavesNothingBehind) {  // L09
  std::string dev = Tar().add({.name = "dev", .type = '2', .target = at("victim")}).bytes();
  std::string through = Tar().add({.name = "dev/f", .content = "evil"}).bytes();
  make("victim");
  make_layout({dev, through});
  EXPECT_NE(import("oci", "layout").find("symbolic link"), std::string::npos);
  EXPECT_TRUE(images().empty());
  EXPECT_TRUE(names("victim").empty());
}

TEST_F(ImportTest, RecognisesABomb) {
  std::string bomb =
      gzip(gzip(Tar().add({.name = "zeros", .content = std::string(64 << 20, '\0')}).bytes()));
  write("bomb.tar.gz", bomb);
  EXPECT_NE(import("bomb", "bomb.tar.gz", {.ratio_from = 1 << 20}).find("bomb"), std::string::npos);
  EXPECT_NE(import("bomb", "bomb.tar.gz", {.bytes = 1 << 20}), "");
  EXPECT_TRUE(images().empty());
}

TEST_F(ImportTest, RefusesBadNamesAndTakenOnes) {
  write("root.tar", lower_);
  for (const char* name : {"", ".", "..", "../x", "a/b", "Upper", ".hidden", "-flag", "a b"}) {
    EXPECT_FALSE(import_image(name, at("root.tar"), {})) << name;
    EXPECT_FALSE(find_image(name)) << name;
    EXPECT_FALSE(remove_image(name)) << name;
  }
  EXPECT_EQ(import("once", "root.tar"), "");
  EXPECT_NE(import("once", "root.tar").find("exists"), std::string::npos);
}

TEST_F(ImportTest, SweepsWhatAnInterruptedImportLeft) {
  ASSERT_TRUE(list_images());
  make("state/images/.import-aaaabbbbcc");
  make("state/images/.import-aaaabbbbcc/rootfs");
  write("root.tar", lower_);
  EXPECT_EQ(import("x", "root.tar"), "");
  EXPECT_EQ(images(), std::vector<std::string>{"x"});
}

TEST_F(ImportTest, RefusesAnEmptyOrPlainSource) {
  write("empty.tar", Tar().bytes());
  EXPECT_NE(import("x", "empty.tar"), "");
  make("plain");
  EXPECT_NE(import("x", "plain").find("no OCI layout"), std::string::npos);
  EXPECT_NE(import("x", "missing"), "");
  EXPECT_TRUE(images().empty());
}

}  // namespace
}  // namespace paddock::store

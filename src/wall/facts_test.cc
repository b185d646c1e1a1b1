#include "wall/facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace paddock::wall {
namespace {

// A root directory in the making, removed at the end.
class Root : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/paddock-facts-XXXXXX";
    ASSERT_TRUE(::mkdtemp(folder));
    path_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  void add_file(const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::ofstream(path_ + name) << "x";
  }
  void add_link(const std::string& name, const std::string& target) {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::filesystem::create_symlink(target, path_ + name);
  }

  std::string path_;
};

using NetworkFactsOf = Root;

TEST_F(NetworkFactsOf, ARootNameItsBundlesWithoutLinks) {
  add_file("/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem");
  add_link("/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem");
  add_link("/etc/ssl/certs", "../pki/tls/certs");
  add_link("/etc/ssl/cert.pem", "/etc/pki/tls/certs/ca-bundle.crt");
  add_file("/etc/resolv.conf");
  NetworkFacts facts = probe_network(path_);
  EXPECT_EQ(facts.ca_bundles,
            std::vector<std::string>{"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"});
  EXPECT_EQ(facts.resolv_conf, "/etc/resolv.conf");
  EXPECT_EQ(facts.java_trust_store, "");
}

TEST_F(NetworkFactsOf, ARootDoNotLeaveIt) {
  add_link("/etc/ssl/certs/ca-certificates.crt", "/etc/passwd");
  add_link("/etc/resolv.conf", "../../../../../../etc/passwd");
  add_link("/etc/ssl/cert.pem", "/proc/self/exe");
  NetworkFacts facts = probe_network(path_);
  EXPECT_TRUE(facts.ca_bundles.empty());
  EXPECT_EQ(facts.resolv_conf, "");
}

TEST_F(NetworkFactsOf, ARootCountRegularFilesOnly) {
  std::filesystem::create_directories(path_ + "/etc/resolv.conf");
  EXPECT_EQ(probe_network(path_).resolv_conf, "");
  EXPECT_EQ(probe_network("/nowhere").resolv_conf, "");
}

}  // namespace
}  // namespace paddock::wall

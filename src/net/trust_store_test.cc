#include "net/trust_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>

#include "base/fd.h"
#include "base/text.h"
#include "net/tls.h"

namespace paddock::net {
namespace {

std::string make_certificate(const std::string& host) {
  return CertificateAuthority::create({host}).value().certificate();
}

std::string error_of(const std::string& pem) {
  Result<std::vector<std::string>> read = certificates_in(pem);
  return read ? "accepted" : read.error().message;
}

TEST(TrustStore, FindsEveryCertificateAmongOtherText) {
  std::string pem =
      cat("# one\n", make_certificate("a.test"), "two:\r\n", make_certificate("b.test"), "end");
  Result<std::vector<std::string>> read = certificates_in(pem);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read.value().size(), 2u);
  EXPECT_NE(read.value()[0].find("a.test"), std::string::npos);
  EXPECT_NE(read.value()[1].find("b.test"), std::string::npos);
  EXPECT_TRUE(certificates_in("no certificate").value().empty());
}

TEST(TrustStore, RefusesABrokenCertificateAndSaysWhich) {
  std::string whole = make_certificate("a.test"), broken = whole;
  broken.erase(100, 4);  // still base64, but shorter than it says
  EXPECT_EQ(error_of(whole + broken), "certificate 2 of the bundle is broken");
  EXPECT_EQ(error_of(whole.substr(0, whole.size() - 20)), "certificate 1 of the bundle is broken");
  std::string foreign = whole;
  foreign[100] = '!';
  EXPECT_EQ(error_of(foreign), "certificate 1 of the bundle is broken");
  EXPECT_EQ(error_of("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"),
            "certificate 1 of the bundle is broken");
}

TEST(TrustStore, WritesWhatJavaReads) {
  if (std::system("keytool -help >/dev/null 2>&1") != 0) GTEST_SKIP() << "keytool is not installed";
  std::vector<std::string> certificates =
      certificates_in(make_certificate("a.test") + make_certificate(".b.test")).value();
  char path[] = "/tmp/paddock-trust-store-XXXXXX";
  Fd file(::mkstemp(path));
  ASSERT_TRUE(file);
  ASSERT_TRUE(write_all(file.get(), make_java_trust_store(certificates)));

  FILE* listing = ::popen(cat("LC_ALL=C keytool -J-Duser.language=en -list -keystore ", path,
                              " -storepass changeit 2>&1")
                              .c_str(),
                          "r");
  ASSERT_NE(listing, nullptr);
  std::string text = read_all(::fileno(listing), 1 << 20).value();
  EXPECT_EQ(::pclose(listing), 0);
  ::unlink(path);
  EXPECT_NE(text.find("contains 2 entries"), std::string::npos) << text;
  EXPECT_NE(text.find("authority-2"), std::string::npos) << text;
  EXPECT_NE(text.find("trustedCertEntry"), std::string::npos) << text;
}

}  // namespace
}  // namespace paddock::net

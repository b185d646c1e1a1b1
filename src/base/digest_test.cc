#include "base/digest.h"

#include <gtest/gtest.h>

namespace paddock {
namespace {

TEST(Digest, IsSha256) {
  EXPECT_EQ(to_hex(sha256_bytes("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  hash.add("a");
  hash.add("bc");
  EXPECT_EQ(hash.finish(), sha256_bytes("abc"));
}

TEST(Digest, HmacIsThatOfRfc4231) {
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256(std::string(131, '\xaa'),
                               "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace paddock

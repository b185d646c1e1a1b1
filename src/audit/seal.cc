#include "audit/seal.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "audit/state.h"
#include "base/digest.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

constexpr size_t kKeySize = 32, kSignatureSize = 64;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using Memory = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
Error failed(const char* what) { return Error{Code::internal, cat(what, ": OpenSSL failed"), ""}; }

// Null if OpenSSL fails.
Key private_key(std::string_view seed) {
  return Key(::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed), seed.size()),
             ::EVP_PKEY_free);
}

// The raw key is 32 bytes for Ed25519.
Result<std::string> raw_of(const EVP_PKEY* key) {
  std::string raw(kKeySize, '\0');
  size_t size = raw.size();
  if (::EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(raw.data()), &size) !=
          1 ||
      size != kKeySize)
    return failed("read the audit log's public key");
  return raw;
}

Result<std::string> sign(std::string_view seed, std::string_view text) {
  Key key = private_key(seed);
  Context context(::EVP_MD_CTX_new(), ::EVP_MD_CTX_free);
  std::string signature(kSignatureSize, '\0');
  size_t size = signature.size();
  if (!key || !context ||
      ::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      ::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                       bytes_of(text), text.size()) != 1 ||
      size != kSignatureSize)
    return failed("sign the audit log");
  return signature;
}

// For people, and for those who verify elsewhere. The first process that can derive it writes it.
Result<void> keep_public_key(Log::State& state, const PublicKey& key) {
  Result<Fd> there = open_in(state.directory.get(), "key.pub", O_RDONLY);
  if (there || there.error().code != Code::not_found) return there ? Result<void>() : there.error();
  TRY(make_file(*state.disk, state.directory.get(), "key.pub", TRY(key.pem())));
  return {};
}

}  // namespace

// This exact text is signed, so it may never change within version 1.
std::string to_text(const SealText& seal) {
  return cat("paddock audit seal v1\nsegment ", seal.segment, "\nfirst ", seal.first, "\nlast ",
             seal.last, "\nprev ", seal.prev, "\n");
}

// The seal signs the hash of the last record, and so everything before it.
Result<void> seal_and_rotate(Log& log) {
  Log::State& state = log.state();
  Lock lock = TRY(state.lock());
  TRY(state.refresh());
  PublicKey key = TRY(PublicKey::from_seed(state.seed));
  TRY(keep_public_key(state, key));
  const Head& head = state.head;
  if (head.last.seq <= head.first) return {};
  std::string text = to_text(SealText{
      .segment = head.segment, .first = head.first, .last = head.last.seq, .prev = head.last.hash});
  Value seal;
  seal.set("key", key.id());
  seal.set("signature", to_hex(TRY(sign(state.seed, text))));
  TRY(state.end_segment(std::move(seal), {}));
  return state.retire();
}

// Derived from the private key where that is readable; otherwise from the file beside it.
Result<std::string> public_key(const std::string& directory) {
  Fd place = TRY(open_file(directory, O_RDONLY | O_DIRECTORY));
  Result<std::string> seed = read_seed(place.get());
  if (seed) return TRY(PublicKey::from_seed(seed.value())).pem();
  if (seed.error().code != Code::not_found) return seed.error();
  Result<Fd> file = open_in(place.get(), "key.pub", O_RDONLY);
  if (!file)
    return Error{Code::not_found,
                 cat("read the public key of the audit log '", printable(directory),
                     "': neither key nor key.pub is there"),
                 "give it with --key FILE"};
  return read_all(file.value().get(), 4096);
}

// Only Ed25519 is accepted: nothing else is ever signed with.
Result<PublicKey> PublicKey::from_pem(std::string_view pem) {
  Memory memory(
      ::BIO_new_mem_buf(pem.data(), static_cast<int>(std::min<size_t>(pem.size(), 1 << 16))),
      ::BIO_free_all);
  Key key(memory ? ::PEM_read_bio_PUBKEY(memory.get(), nullptr, nullptr, nullptr) : nullptr,
          ::EVP_PKEY_free);
  if (!key || ::EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519)
    return Error{Code::invalid, "read the public key: not an Ed25519 key in PEM form",
                 "paddock audit key prints the right one"};
  return PublicKey(TRY(raw_of(key.get())));
}

Result<PublicKey> PublicKey::from_seed(std::string_view seed) {
  Key key = private_key(seed);
  if (!key) return failed("read the audit log's key");
  return PublicKey(TRY(raw_of(key.get())));
}

// A signature of any length may come from a log; OpenSSL checks it.
bool PublicKey::signed_this(std::string_view text, std::string_view signature) const {
  Key key(::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(raw_), raw_.size()),
          ::EVP_PKEY_free);
  Context context(::EVP_MD_CTX_new(), ::EVP_MD_CTX_free);
  return key && context &&
         ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         ::EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(text),
                            text.size()) == 1;
}

// A short name for people to compare.
std::string PublicKey::id() const { return to_hex(sha256_bytes(raw_)); }

Result<std::string> PublicKey::pem() const {
  Key key(::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(raw_), raw_.size()),
          ::EVP_PKEY_free);
  Memory memory(::BIO_new(::BIO_s_mem()), ::BIO_free_all);
  if (!key || !memory || ::PEM_write_bio_PUBKEY(memory.get(), key.get()) != 1)
    return failed("write the audit log's public key");
  char* data = nullptr;
  long size = ::BIO_get_mem_data(memory.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

}  // namespace paddock::audit

#include "net/tls.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "net/address.h"
#include "net/trust_store.h"

namespace paddock::net {

namespace {

// Frees OpenSSL's objects with their own functions.
template <auto free_function>
struct FreedBy {
  void operator()(auto* object) const { free_function(object); }
};
using Certificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using Number = std::unique_ptr<BIGNUM, FreedBy<BN_free>>;
using Bio = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using Store = std::unique_ptr<X509_STORE, FreedBy<X509_STORE_free>>;
using Context = std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, FreedBy<SSL_free>>;

// Lifetimes in seconds. Certificates are valid from an hour ago, so that a clock that is set back a
// little does no harm.
constexpr int kHour = 60 * 60;
constexpr int kLifetime = 30 * 24 * kHour;
constexpr size_t kMostLeaves = 1000;
// As ALPN spells it.
constexpr unsigned char kHttp11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

// The host's openssl.cnf must not change what is checked here, and a static program cannot load
// what it names.
void start_openssl() {
  (void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS |
                             OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
                         nullptr);
}

// The first error in OpenSSL's queue, which is emptied so that the next call does not see it.
Error openssl_error(std::string_view what) {
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  Error error{Code::internal, cat(what, ": ", reason ? reason : "OpenSSL does not say why")};
  ERR_clear_error();
  return error;
}

// Callers have brought names into this form already; what is not in it must reach neither a
// certificate nor OpenSSL's little language for extensions. A last label of digits only would be
// read as an address by somebody.
bool is_host_name(std::string_view name) {
  if (name.size() > 253) return false;
  std::vector<std::string> labels = split(name, '.');
  for (const std::string& label : labels) {
    if (label.empty() || label.size() > 63) return false;
    if (label.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string::npos)
      return false;
  }
  return labels.back().find_first_not_of("0123456789") != std::string::npos;
}

// A name that `host` stands for.
std::string example_of(const std::string& host) {
  return host.starts_with('.') ? cat("x", host) : host;
}

// ---- certificates

// OpenSSL parses `value` as a small language, so it must never hold unchecked text from outside.
bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1);
}

// Some clients refuse two certificates of one issuer with the same serial.
bool set_random_serial(X509* certificate) {
  Number number(BN_new());
  return number && BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
}

bool set_subject(X509* certificate, const char* field, const char* value) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), field, MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(value), -1, -1, 0);
}

// A constraint on "name" holds for what is beneath it as well: X.509 can say no less. That the name
// itself is meant, or only what is beneath, is checked before a certificate is made. Addresses are
// excluded: silence would permit them all.
std::string name_constraints(const std::vector<std::string>& hosts) {
  std::string text = "critical";
  for (const std::string& host : hosts)
    text += cat(",permitted;DNS:", host.substr(host.starts_with('.') ? 1 : 0));
  return text + ",excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:::/::";
}

Certificate make_authority_certificate(EVP_PKEY* key, const std::vector<std::string>& hosts) {
  Certificate made(X509_new());
  X509* it = made.get();
  bool ok = it && X509_set_version(it, X509_VERSION_3) && set_random_serial(it) &&
            set_subject(it, "CN", "Paddock sandbox authority") &&
            X509_set_issuer_name(it, X509_get_subject_name(it)) &&
            X509_gmtime_adj(X509_getm_notBefore(it), -kHour) &&
            X509_gmtime_adj(X509_getm_notAfter(it), kLifetime) && X509_set_pubkey(it, key) &&
            add_extension(it, it, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
            add_extension(it, it, NID_key_usage, "critical,keyCertSign") &&
            add_extension(it, it, NID_name_constraints, name_constraints(hosts)) &&
            add_extension(it, it, NID_subject_key_identifier, "hash") &&
            X509_sign(it, key, EVP_sha256());
  return ok ? std::move(made) : nullptr;
}

// The subject carries no name: it holds 64 characters only, and clients check names in the
// alternative ones.
Certificate make_leaf_certificate(EVP_PKEY* key, const std::string& name, X509* issuer,
                                  EVP_PKEY* issuer_key) {
  Certificate made(X509_new());
  X509* it = made.get();
  bool ok = it && X509_set_version(it, X509_VERSION_3) && set_random_serial(it) &&
            set_subject(it, "O", "Paddock sandbox") &&
            X509_set_issuer_name(it, X509_get_subject_name(issuer)) &&
            X509_set1_notBefore(it, X509_get0_notBefore(issuer)) &&
            X509_set1_notAfter(it, X509_get0_notAfter(issuer)) && X509_set_pubkey(it, key) &&
            add_extension(it, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
            add_extension(it, issuer, NID_key_usage, "critical,digitalSignature") &&
            add_extension(it, issuer, NID_ext_key_usage, "serverAuth") &&
            add_extension(it, issuer, NID_subject_alt_name, cat("DNS:", name)) &&
            add_extension(it, issuer, NID_subject_key_identifier, "hash") &&
            add_extension(it, issuer, NID_authority_key_identifier, "keyid:always") &&
            X509_sign(it, issuer_key, EVP_sha256());
  return ok ? std::move(made) : nullptr;
}

std::string to_pem(X509* certificate) {
  Bio memory(BIO_new(BIO_s_mem()));
  if (!memory || !PEM_write_bio_X509(memory.get(), certificate)) return "";
  char* text = nullptr;
  long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, size);
}

// ---- contexts

// No renegotiation, compression or tickets: none is needed, and each has been part of an attack.
bool restrict_protocol(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

// Called only when the client named protocols. To go on without one of them would have it speak
// HTTP/2 to us.
int choose_http11(SSL*, const unsigned char** chosen, unsigned char* length,
                  const unsigned char* offered, unsigned int offered_length, void*) {
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, length, kHttp11, sizeof kHttp11, offered, offered_length) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

Result<Context> make_server_context() {
  Context context(SSL_CTX_new(TLS_server_method()));
  if (!context || !restrict_protocol(context.get()) || !SSL_CTX_set_num_tickets(context.get(), 0))
    return openssl_error("prepare TLS for clients");
  SSL_CTX_set_alpn_select_cb(context.get(), choose_http11, nullptr);
  return context;
}

// Every certificate of the bundle must be readable: one that is skipped silently would be missed
// later.
Result<Store> read_trust(const std::string& pem, std::string_view from) {
  Result<std::vector<std::string>> certificates = certificates_in(pem);
  if (!certificates) {
    return Error{Code::invalid, cat("read the authorities to trust from ", from, ": ",
                                    certificates.error().message)};
  }
  if (certificates.value().empty())
    return Error{Code::invalid, cat("read the authorities to trust from ", from,
                                    ": there is no certificate in it")};
  Store store(X509_STORE_new());
  if (!store) return openssl_error("make a certificate store");
  for (size_t i = 0; i < certificates.value().size(); ++i) {
    const std::string& der = certificates.value()[i];
    auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    Certificate certificate(d2i_X509(nullptr, &bytes, der.size()));
    if (!certificate || !X509_STORE_add_cert(store.get(), certificate.get()))
      return openssl_error(cat("read certificate ", i + 1, " from ", from));
  }
  return store;
}

Result<Context> make_client_context(Store trust) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context || !restrict_protocol(context.get()) ||
      SSL_CTX_set_alpn_protos(context.get(), kHttp11, sizeof kHttp11) != 0) {
    return openssl_error("prepare TLS for servers");
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_store(context.get(), trust.release());
  return context;
}

}  // namespace

// ---- the authority

struct CertificateAuthority::State {
  std::vector<std::string> hosts;
  Key key, leaf_key;
  Certificate certificate;
  std::string pem;
  std::map<std::string, Certificate> leaves;

  // ".name" stands for everything beneath the name, and not for the name itself.
  bool covers(const std::string& name) const {
    return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
      return host.starts_with('.') ? name.ends_with(host) : name == host;
    });
  }

  Result<X509*> leaf_for(const std::string& name) {
    if (!is_host_name(name) || !covers(name))
      return Error{Code::denied, cat("speak TLS for '", printable(name),
                                     "': it is not one of the hosts whose requests are read")};
    auto known = leaves.find(name);
    if (known != leaves.end()) return known->second.get();
    // A program can ask for endless names beneath one. Connections hold references, so all may go.
    if (leaves.size() >= kMostLeaves) leaves.clear();
    Certificate leaf = make_leaf_certificate(leaf_key.get(), name, certificate.get(), key.get());
    if (!leaf) return openssl_error(cat("make a certificate for '", name, "'"));
    return leaves.emplace(name, std::move(leaf)).first->second.get();
  }
};

Result<CertificateAuthority> CertificateAuthority::create(const std::vector<std::string>& hosts) {
  start_openssl();
  CertificateAuthority authority;
  State& state = *authority.state_;
  for (const std::string& host : hosts) {
    state.hosts.push_back(host.starts_with("*.") ? host.substr(1) : host);
    if (!is_host_name(example_of(state.hosts.back())))
      return Error{Code::invalid, cat("make a certificate authority for '", printable(host),
                                      "': this is not a host name")};
  }
  // Without a permitted name the certificate would be good for all of them.
  if (hosts.empty()) return Error{Code::invalid, "make a certificate authority: no host is named"};
  state.key.reset(EVP_EC_gen("P-256"));
  state.leaf_key.reset(EVP_EC_gen("P-256"));
  if (!state.key || !state.leaf_key) return openssl_error("make a key");
  state.certificate = make_authority_certificate(state.key.get(), state.hosts);
  if (!state.certificate) return openssl_error("make the authority's certificate");
  state.pem = to_pem(state.certificate.get());
  if (state.pem.empty()) return openssl_error("write the authority's certificate");
  return authority;
}

CertificateAuthority::CertificateAuthority() : state_(std::make_unique<State>()) {}
CertificateAuthority::CertificateAuthority(CertificateAuthority&&) noexcept = default;
CertificateAuthority& CertificateAuthority::operator=(CertificateAuthority&&) noexcept = default;
CertificateAuthority::~CertificateAuthority() = default;

const std::string& CertificateAuthority::certificate() const { return state_->pem; }

// ---- the stream

struct TlsStream::State {
  int socket;
  std::string seen;           // read from the socket by somebody else, not yet by us
  bool shaken_hands = false;  // SSL_in_init would be true again after a failure
  bool ended = false;         // the socket did, with or without goodbye
  int socket_error = 0;
  bool failed = false;
  std::string why;
  Connection ssl;  // last, and so gone first: it reaches the others through its BIO

  static const BIO_METHOD* bio_method();
  static int receive(BIO* bio, char* buffer, int size);
  static int send(BIO* bio, const char* bytes, int size);
  static long control(BIO* bio, int command, long number, void* pointer);

  static Result<std::unique_ptr<State>> create(SSL_CTX* context, int socket, std::string_view seen);
  Done done_after(int result);
  std::string explain() const;
};

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL, and cannot be given bytes that were read
// before.
const BIO_METHOD* TlsStream::State::bio_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "paddock socket");
    bool ok = made && BIO_meth_set_read(made, receive) && BIO_meth_set_write(made, send) &&
              BIO_meth_set_ctrl(made, control);
    return ok ? made : nullptr;
  }();
  return method;
}

int TlsStream::State::receive(BIO* bio, char* buffer, int size) {
  State& state = *static_cast<State*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (!state.seen.empty()) {
    size_t length = state.seen.copy(buffer, size);
    state.seen.erase(0, length);
    return static_cast<int>(length);
  }
  ssize_t length;
  do {
    length = ::recv(state.socket, buffer, size, MSG_DONTWAIT);
  } while (length < 0 && errno == EINTR);
  if (length == 0) state.ended = true;
  if (length < 0 && errno == EAGAIN)
    BIO_set_retry_read(bio);
  else if (length < 0)
    state.socket_error = errno;
  return static_cast<int>(length);
}

int TlsStream::State::send(BIO* bio, const char* bytes, int size) {
  State& state = *static_cast<State*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t length;
  do {
    length = ::send(state.socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (length < 0 && errno == EINTR);
  if (length < 0 && errno == EAGAIN)
    BIO_set_retry_write(bio);
  else if (length < 0)
    state.socket_error = errno;
  return static_cast<int>(length);
}

long TlsStream::State::control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;  // nothing is held back
  if (command == BIO_CTRL_EOF) return static_cast<State*>(BIO_get_data(bio))->ended;
  return 0;
}

Result<std::unique_ptr<TlsStream::State>> TlsStream::State::create(SSL_CTX* context, int socket,
                                                                   std::string_view seen) {
  auto state = std::make_unique<State>(State{.socket = socket, .seen = std::string(seen)});
  state->ssl.reset(SSL_new(context));
  BIO* bio = state->bio_method() ? BIO_new(state->bio_method()) : nullptr;
  if (!state->ssl || !bio) {
    BIO_free(bio);
    return openssl_error("prepare a TLS connection");
  }
  BIO_set_data(bio, state.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(state->ssl.get(), bio, bio);
  return state;
}

// OpenSSL's answer as ours. After a failure its object must not be used again, so the failure
// stays.
TlsStream::Done TlsStream::State::done_after(int result) {
  switch (SSL_get_error(ssl.get(), result)) {
    case SSL_ERROR_NONE: return {Status::ok};
    case SSL_ERROR_WANT_READ: return {Status::want_read};
    case SSL_ERROR_WANT_WRITE: return {Status::want_write};
    case SSL_ERROR_ZERO_RETURN: return {Status::closed};
  }
  failed = true;
  why = explain();
  ERR_clear_error();
  return {Status::failed};
}

// The most useful reason first: the certificate, the other side's alert, the end of the socket, and
// only then OpenSSL's own words.
std::string TlsStream::State::explain() const {
  unsigned long error = ERR_peek_error();
  int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
    return X509_verify_cert_error_string(SSL_get_verify_result(ssl.get()));
  if (reason > SSL_AD_REASON_OFFSET)
    return cat("the other side refused: ",
               SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET));
  // Before the socket's own error: OpenSSL answers an early end with an alert, which nobody is
  // there to receive.
  if (ended && !shaken_hands) return "the other side hung up during the handshake";
  if (ended) return "the connection ended without TLS's goodbye: what it carried may be cut short";
  if (socket_error) return std::strerror(socket_error);
  const char* text = ERR_reason_error_string(error);
  return text ? text : "TLS failed, and OpenSSL does not say why";
}

TlsStream::TlsStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsStream::TlsStream(TlsStream&&) noexcept = default;
TlsStream& TlsStream::operator=(TlsStream&&) noexcept = default;
TlsStream::~TlsStream() = default;

TlsStream::Done TlsStream::handshake() {
  if (state_->failed) return {Status::failed};
  ERR_clear_error();
  Done done = state_->done_after(SSL_do_handshake(state_->ssl.get()));
  state_->shaken_hands = done.status == Status::ok;
  return done;
}

TlsStream::Done TlsStream::read(char* buffer, size_t size) {
  if (state_->failed) return {Status::failed};
  if (size == 0) return {Status::ok};
  ERR_clear_error();
  Done done;
  int result = SSL_read_ex(state_->ssl.get(), buffer, size, &done.bytes);
  return result == 1 ? done : state_->done_after(result);
}

TlsStream::Done TlsStream::write(std::string_view bytes) {
  if (state_->failed) return {Status::failed};
  if (bytes.empty()) return {Status::ok};
  ERR_clear_error();
  Done done;
  int result = SSL_write_ex(state_->ssl.get(), bytes.data(), bytes.size(), &done.bytes);
  return result == 1 ? done : state_->done_after(result);
}

TlsStream::Done TlsStream::shut_down() {
  if (state_->failed) return {Status::failed};
  if (!state_->shaken_hands) return {Status::ok};  // there is nothing yet to say goodbye to
  ERR_clear_error();
  int result = SSL_shutdown(state_->ssl.get());
  return result >= 0 ? Done{} : state_->done_after(result);
}

std::string TlsStream::why() const { return state_->why; }

// ---- a server of its own

struct TlsServer::State {
  Context context;
};

Result<TlsServer> TlsServer::create(const std::string& certificate_file,
                                    const std::string& key_file) {
  start_openssl();
  TlsServer server;
  server.state_ = std::make_unique<State>(State{TRY(make_server_context())});
  SSL_CTX* context = server.state_->context.get();
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1)
    return openssl_error(cat("read the certificate '", printable(certificate_file), "'"));
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return openssl_error(cat("read the key '", printable(key_file), "'"));
  if (SSL_CTX_check_private_key(context) != 1)
    return openssl_error("use the key with the certificate");
  return server;
}

TlsServer::TlsServer() = default;
TlsServer::TlsServer(TlsServer&&) noexcept = default;
TlsServer& TlsServer::operator=(TlsServer&&) noexcept = default;
TlsServer::~TlsServer() = default;

Result<TlsStream> TlsServer::accept(int socket) {
  std::unique_ptr<TlsStream::State> stream =
      TRY(TlsStream::State::create(state_->context.get(), socket, ""));
  SSL_set_accept_state(stream->ssl.get());
  return TlsStream(std::move(stream));
}

// ---- a client

struct TlsClient::State {
  Context context;
};

Result<TlsClient> TlsClient::create(const std::string& trust) {
  start_openssl();
  TlsClient client;
  client.state_ = std::make_unique<State>(
      State{TRY(make_client_context(TRY(read_trust(trust, "the bundle"))))});
  return client;
}

TlsClient::TlsClient() = default;
TlsClient::TlsClient(TlsClient&&) noexcept = default;
TlsClient& TlsClient::operator=(TlsClient&&) noexcept = default;
TlsClient::~TlsClient() = default;

Result<TlsStream> TlsClient::connect(int socket, const std::string& host) {
  bool is_address = parse_address(host).has_value();
  if (!is_address && !is_host_name(host))
    return Error{Code::invalid,
                 cat("speak TLS to '", printable(host), "': this is not a host name")};
  std::unique_ptr<TlsStream::State> stream =
      TRY(TlsStream::State::create(state_->context.get(), socket, ""));
  SSL* ssl = stream->ssl.get();
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  bool set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1
                        : SSL_set1_host(ssl, host.c_str()) == 1 &&
                              SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
  if (!set) return openssl_error(cat("speak TLS to '", host, "'"));
  SSL_set_connect_state(ssl);
  return TlsStream(std::move(stream));
}

// ---- both sides

struct TlsContexts::State {
  CertificateAuthority authority;
  Context server, client;

  Result<TlsStream> accept(int socket, const std::string& name, std::string_view seen);
  static Result<TlsStream> connect(SSL_CTX* context, int socket, const std::string& name);
  Result<void> warm_up();
};

Result<TlsStream> TlsContexts::State::accept(int socket, const std::string& name,
                                             std::string_view seen) {
  CertificateAuthority::State& own = *authority.state_;
  X509* leaf = TRY(own.leaf_for(name));
  auto stream = TRY(TlsStream::State::create(server.get(), socket, seen));
  SSL* ssl = stream->ssl.get();
  if (!SSL_use_certificate(ssl, leaf) || !SSL_use_PrivateKey(ssl, own.leaf_key.get()))
    return openssl_error(cat("speak TLS for '", name, "'"));
  SSL_set_accept_state(ssl);
  return TlsStream(std::move(stream));
}

Result<TlsStream> TlsContexts::State::connect(SSL_CTX* context, int socket,
                                              const std::string& name) {
  if (!is_host_name(name))
    return Error{Code::invalid,
                 cat("speak TLS to '", printable(name), "': this is not a host name")};
  auto stream = TRY(TlsStream::State::create(context, socket, ""));
  SSL* ssl = stream->ssl.get();
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (!SSL_set1_host(ssl, name.c_str()) || !SSL_set_tlsext_host_name(ssl, name.c_str()))
    return openssl_error(cat("speak TLS to '", name, "'"));
  SSL_set_connect_state(ssl);
  return TlsStream(std::move(stream));
}

namespace {

// One connection from handshake to goodbye, over a pair of sockets that can hold all of it.
bool converse(TlsStream& server, TlsStream& client) {
  using Status = TlsStream::Status;
  Status served = Status::want_read, asked = Status::want_read;
  for (int round = 0; round < 10 && (served != Status::ok || asked != Status::ok); ++round) {
    asked = client.handshake().status;
    served = server.handshake().status;
  }
  char byte;
  return served == Status::ok && asked == Status::ok && client.write("x").status == Status::ok &&
         server.read(&byte, 1).bytes == 1 && server.shut_down().status == Status::ok &&
         client.read(&byte, 1).status == Status::closed;
}

}  // namespace

// What is loaded at first use (random numbers, algorithms, and the time zone, which gmtime reads
// from a file) is loaded here, by a connection of this process with itself.
Result<void> TlsContexts::State::warm_up() {
  CertificateAuthority::State& own = *authority.state_;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return errno_error(errno, "make a pair of sockets to try TLS on");
  Fd inside(ends[0]), outside(ends[1]);

  Context trusting = TRY(make_client_context(TRY(read_trust(own.pem, "the authority"))));
  std::string name = example_of(own.hosts.front());
  TlsStream served = TRY(accept(inside.get(), name, ""));
  TlsStream asked = TRY(connect(trusting.get(), outside.get(), name));
  if (!converse(served, asked))
    return Error{Code::internal, cat("try TLS within the process: ", served.why(), asked.why())};
  return {};
}

Result<TlsContexts> TlsContexts::create(CertificateAuthority authority, const std::string& trust) {
  start_openssl();
  Context client = TRY(make_client_context(TRY(read_trust(trust, "the bundle"))));
  Context server = TRY(make_server_context());
  TlsContexts contexts;
  contexts.state_ = std::make_unique<State>(State{
      .authority = std::move(authority), .server = std::move(server), .client = std::move(client)});
  TRY(contexts.state_->warm_up());
  return contexts;
}

TlsContexts::TlsContexts() = default;
TlsContexts::TlsContexts(TlsContexts&&) noexcept = default;
TlsContexts& TlsContexts::operator=(TlsContexts&&) noexcept = default;
TlsContexts::~TlsContexts() = default;

const std::string& TlsContexts::certificate() const { return state_->authority.certificate(); }

Result<TlsStream> TlsContexts::accept(int socket, const std::string& name, std::string_view seen) {
  return state_->accept(socket, name, seen);
}

Result<TlsStream> TlsContexts::connect(int socket, const std::string& name) {
  return State::connect(state_->client.get(), socket, name);
}

}  // namespace paddock::net

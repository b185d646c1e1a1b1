#include "net/tls.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::net {
namespace {

using Status = TlsStream::Status;

struct Sockets {
  Fd inside, outside;
};

Sockets make_sockets() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

CertificateAuthority authority_for(const std::vector<std::string>& hosts) {
  return std::move(CertificateAuthority::create(hosts)).value();
}

// Contexts whose client side trusts `trust`, or their own authority.
TlsContexts contexts_for(const std::vector<std::string>& hosts, std::string trust = "") {
  CertificateAuthority authority = authority_for(hosts);
  if (trust.empty()) trust = authority.certificate();
  return std::move(TlsContexts::create(std::move(authority), trust)).value();
}

struct Outcome {
  Status first, second;
};

bool is_final(Status status) { return status == Status::ok || status == Status::failed; }

// Steps both ends until neither can go on.
Outcome shake_hands(const std::function<Status()>& first, const std::function<Status()>& second) {
  Outcome outcome{Status::want_read, Status::want_read};
  for (int round = 0; round < 1000 && (!is_final(outcome.first) || !is_final(outcome.second));
       ++round) {
    if (!is_final(outcome.first)) outcome.first = first();
    if (!is_final(outcome.second)) outcome.second = second();
  }
  return outcome;
}

Outcome shake_hands(TlsStream& first, TlsStream& second) {
  return shake_hands([&] { return first.handshake().status; },
                     [&] { return second.handshake().status; });
}

// The other side as OpenSSL alone makes it, for what our own side would never do.
class Plain {
 public:
  Plain(const SSL_METHOD* method, int socket)
      : context_(SSL_CTX_new(method)), ssl_(SSL_new(context_)) {
    SSL_set_fd(ssl_, socket);
  }
  Plain(const Plain&) = delete;
  ~Plain() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  SSL* ssl() { return ssl_; }
  Status handshake() {
    int result = SSL_is_server(ssl_) ? SSL_accept(ssl_) : SSL_connect(ssl_);
    if (result == 1) return Status::ok;
    int error = SSL_get_error(ssl_, result);
    return error == SSL_ERROR_WANT_READ    ? Status::want_read
           : error == SSL_ERROR_WANT_WRITE ? Status::want_write
                                           : Status::failed;
  }

 private:
  SSL_CTX* context_;
  SSL* ssl_;
};

struct ServerCertificate {
  X509* certificate = X509_new();
  EVP_PKEY* key = EVP_RSA_gen(2048);
  std::string pem;

  ServerCertificate(const std::string& name, long from, long until) {
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from);
    X509_gmtime_adj(X509_getm_notAfter(certificate), until);
    std::string subject = cat(name, " from ", from);  // a verifier finds the trusted one by it
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "O", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    X509_set_pubkey(certificate, key);
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, cat("DNS:", name).c_str());
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
    BIO* memory = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(memory, certificate);
    char* text;
    long size = BIO_get_mem_data(memory, &text);
    pem.assign(text, size);
    BIO_free(memory);
  }
  ServerCertificate(const ServerCertificate&) = delete;
  ~ServerCertificate() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

// Why our client refuses a server that shows `shown`, or "accepted".
std::string refusal(const ServerCertificate& shown, TlsContexts& contexts,
                    const std::string& name) {
  Sockets sockets = make_sockets();
  Plain server(TLS_server_method(), sockets.outside.get());
  SSL_use_certificate(server.ssl(), shown.certificate);
  SSL_use_PrivateKey(server.ssl(), shown.key);
  SSL_set_accept_state(server.ssl());
  TlsStream client = std::move(contexts.connect(sockets.inside.get(), name)).value();
  Outcome outcome =
      shake_hands([&] { return client.handshake().status; }, [&] { return server.handshake(); });
  return outcome.first == Status::ok ? "accepted" : client.why();
}

constexpr long kDay = 24 * 60 * 60;

TEST(Tls, CarriesBytesBothWaysAndSaysGoodbye) {
  TlsContexts contexts = contexts_for({"a.test"});
  Sockets sockets = make_sockets();
  TlsStream server = std::move(contexts.accept(sockets.inside.get(), "a.test", "")).value();
  TlsStream client = std::move(contexts.connect(sockets.outside.get(), "a.test")).value();
  Outcome outcome = shake_hands(client, server);
  ASSERT_EQ(outcome.first, Status::ok) << client.why();
  ASSERT_EQ(outcome.second, Status::ok) << server.why();

  char buffer[8];
  EXPECT_EQ(client.write("question").bytes, 8u);
  EXPECT_EQ(server.read(buffer, 3).bytes, 3u);
  EXPECT_EQ(server.read(buffer, 8).bytes, 5u);
  EXPECT_EQ(server.read(buffer, 8).status, Status::want_read);
  EXPECT_EQ(server.write("answer").bytes, 6u);
  EXPECT_EQ(client.read(buffer, 8).bytes, 6u);
  EXPECT_EQ(std::string(buffer, 6), "answer");

  EXPECT_EQ(client.shut_down().status, Status::ok);
  EXPECT_EQ(server.read(buffer, 8).status, Status::closed);
  EXPECT_EQ(server.write("more").status, Status::ok) << "one side may still speak";
  EXPECT_EQ(client.read(buffer, 8).bytes, 4u);
  EXPECT_EQ(server.shut_down().status, Status::ok);
  EXPECT_EQ(client.read(buffer, 8).status, Status::closed);
}

TEST(Tls, ReadsTheBytesAlreadySeenFirst) {
  TlsContexts contexts = contexts_for({"a.test"});
  for (bool all : {true, false}) {
    Sockets sockets = make_sockets();
    TlsStream client = std::move(contexts.connect(sockets.outside.get(), "a.test")).value();
    EXPECT_EQ(client.handshake().status, Status::want_read);
    char hello[4096];
    ssize_t length = ::recv(sockets.inside.get(), hello, all ? sizeof hello : 100, 0);
    ASSERT_GT(length, 50);
    TlsStream server =
        std::move(contexts.accept(sockets.inside.get(), "a.test", std::string_view(hello, length)))
            .value();
    Outcome outcome = shake_hands(client, server);
    EXPECT_EQ(outcome.first, Status::ok) << client.why();
    EXPECT_EQ(outcome.second, Status::ok) << server.why();
  }
}

TEST(Tls, LosesNothingWhenTheSocketIsOftenFull) {
  TlsContexts contexts = contexts_for({"a.test"});
  Sockets sockets = make_sockets();
  int size = 1;  // the kernel makes this its minimum
  ::setsockopt(sockets.inside.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  ::setsockopt(sockets.outside.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  TlsStream server = std::move(contexts.accept(sockets.inside.get(), "a.test", "")).value();
  TlsStream client = std::move(contexts.connect(sockets.outside.get(), "a.test")).value();
  ASSERT_EQ(shake_hands(client, server).first, Status::ok);

  std::string sent, received;
  for (int i = 0; i < 100000; ++i) sent += std::to_string(i);
  size_t taken = 0, refusals = 0;
  while (received.size() < sent.size()) {
    // A new address each time, as a caller's buffer would have.
    std::string moved = sent.substr(taken);
    TlsStream::Done written = server.write(moved);
    taken += written.bytes;
    if (written.status == Status::want_write) ++refusals;
    char buffer[777];
    TlsStream::Done read = client.read(buffer, sizeof buffer);
    ASSERT_NE(read.status, Status::failed) << client.why();
    ASSERT_NE(written.status, Status::failed) << server.why();
    received.append(buffer, read.bytes);
  }
  EXPECT_EQ(received, sent);
  EXPECT_GT(refusals, 10u);
}

TEST(Tls, TellsAnEndWithoutGoodbyeFromAnEnd) {
  TlsContexts contexts = contexts_for({"a.test"});
  Sockets sockets = make_sockets();
  TlsStream server = std::move(contexts.accept(sockets.inside.get(), "a.test", "")).value();
  TlsStream client = std::move(contexts.connect(sockets.outside.get(), "a.test")).value();
  ASSERT_EQ(shake_hands(client, server).first, Status::ok);
  EXPECT_EQ(server.write("half").bytes, 4u);
  sockets.inside.reset();

  char buffer[8];
  EXPECT_EQ(client.read(buffer, 8).bytes, 4u);
  EXPECT_EQ(client.read(buffer, 8).status, Status::failed);
  EXPECT_EQ(client.why(),
            "the connection ended without TLS's goodbye: what it carried may be cut short");
  EXPECT_EQ(client.write("x").status, Status::failed) << "a failure is final";
}

TEST(Tls, WritingToAClosedSocketFailsWithoutASignal) {
  TlsContexts contexts = contexts_for({"a.test"});
  Sockets sockets = make_sockets();
  TlsStream server = std::move(contexts.accept(sockets.inside.get(), "a.test", "")).value();
  TlsStream client = std::move(contexts.connect(sockets.outside.get(), "a.test")).value();
  ASSERT_EQ(shake_hands(client, server).first, Status::ok);
  sockets.inside.reset();
  EXPECT_EQ(client.write("x").status, Status::failed);
  EXPECT_EQ(client.why(), "Broken pipe");
}

TEST(Tls, SaysWhenTheOtherSideHangsUpInTheHandshake) {
  TlsContexts contexts = contexts_for({"a.test"});
  Sockets sockets = make_sockets();
  TlsStream client = std::move(contexts.connect(sockets.outside.get(), "a.test")).value();
  EXPECT_EQ(client.handshake().status, Status::want_read);
  char hello[4096];
  // Unread bytes would make it a reset.
  ASSERT_GT(::recv(sockets.inside.get(), hello, sizeof hello, 0), 0);
  sockets.inside.reset();
  EXPECT_EQ(client.handshake().status, Status::failed);
  EXPECT_EQ(client.why(), "the other side hung up during the handshake");
}

TEST(Tls, RefusesWhatIsNotTls) {
  TlsContexts contexts = contexts_for({"a.test"});
  Sockets sockets = make_sockets();
  TlsStream server =
      std::move(contexts.accept(sockets.inside.get(), "a.test", "GET / HTTP/1.1\r\n\r\n")).value();
  EXPECT_EQ(server.handshake().status, Status::failed);
  EXPECT_EQ(server.why(), "http request");
}

TEST(Tls, AcceptsAServerThatIsTrustedForTheName) {
  ServerCertificate shown("b.test", -kDay, kDay);
  TlsContexts contexts = contexts_for({"a.test"}, shown.pem);
  EXPECT_EQ(refusal(shown, contexts, "b.test"), "accepted");
}

TEST(Tls, RefusesAServerWithAnotherName) {
  ServerCertificate shown("b.test", -kDay, kDay), starred("w*.b.test", -kDay, kDay);
  TlsContexts contexts = contexts_for({"a.test"}, shown.pem + starred.pem);
  EXPECT_EQ(refusal(shown, contexts, "c.test"), "hostname mismatch");
  EXPECT_EQ(refusal(shown, contexts, "x.b.test"), "hostname mismatch");
  EXPECT_EQ(refusal(starred, contexts, "www.b.test"), "hostname mismatch");
}

TEST(Tls, RefusesAnExpiredServerAndOneFromTheFuture) {
  ServerCertificate expired("b.test", -2 * kDay, -kDay), early("b.test", kDay, 2 * kDay);
  TlsContexts contexts = contexts_for({"a.test"}, expired.pem + early.pem);
  EXPECT_EQ(refusal(expired, contexts, "b.test"), "certificate has expired");
  EXPECT_EQ(refusal(early, contexts, "b.test"), "certificate is not yet valid");
}

TEST(Tls, RefusesAServerNobodyVouchesFor) {
  ServerCertificate shown("b.test", -kDay, kDay);
  TlsContexts contexts = contexts_for({"a.test"});
  EXPECT_EQ(refusal(shown, contexts, "b.test"), "self-signed certificate");
}

TEST(Tls, RefusesAServerBelowTls12) {
  Sockets sockets = make_sockets();
  TlsContexts contexts = contexts_for({"a.test"});
  ServerCertificate shown("b.test", -kDay, kDay);
  Plain server(TLS_server_method(), sockets.outside.get());
  SSL_set_security_level(server.ssl(), 0);
  SSL_set_min_proto_version(server.ssl(), TLS1_VERSION);
  SSL_set_max_proto_version(server.ssl(), TLS1_1_VERSION);
  SSL_use_certificate(server.ssl(), shown.certificate);
  SSL_use_PrivateKey(server.ssl(), shown.key);
  TlsStream client = std::move(contexts.connect(sockets.inside.get(), "b.test")).value();
  SSL_set_accept_state(server.ssl());
  shake_hands([&] { return client.handshake().status; }, [&] { return server.handshake(); });
  EXPECT_EQ(client.why(), "the other side refused: protocol version");
}

// What comes of a client that offers `protocols` (as ALPN spells them): the chosen one, "" for
// none, or why it failed.
std::string chosen_of(const std::string& protocols) {
  TlsContexts contexts = contexts_for({"a.test"});
  Sockets sockets = make_sockets();
  Plain client(TLS_client_method(), sockets.outside.get());
  SSL_set_alpn_protos(client.ssl(), reinterpret_cast<const unsigned char*>(protocols.data()),
                      protocols.size());
  TlsStream server = std::move(contexts.accept(sockets.inside.get(), "a.test", "")).value();
  SSL_set_connect_state(client.ssl());
  Outcome outcome =
      shake_hands([&] { return client.handshake(); }, [&] { return server.handshake().status; });
  if (outcome.second != Status::ok) return server.why();
  const unsigned char* name;
  unsigned int length;
  SSL_get0_alpn_selected(client.ssl(), &name, &length);
  return std::string(reinterpret_cast<const char*>(name), length);
}

TEST(Tls, SpeaksHttp11OnlyToProgramsInside) {
  EXPECT_EQ(chosen_of("\x02h2\x08http/1.1"), "http/1.1");
  EXPECT_EQ(chosen_of(""), "");
  EXPECT_EQ(chosen_of("\x02h2"), "no application protocol");
}

TEST(Tls, SpeaksForItsHostsOnly) {
  TlsContexts contexts = contexts_for({"a.test", ".b.test", "*.c.test"});
  for (const char* name : {"a.test", "x.b.test", "y.x.b.test", "x.c.test"})
    EXPECT_TRUE(contexts.accept(0, name, "")) << name;
  for (const char* name : {"b.test", "x.a.test", "xb.test", "a.test.", "A.test", ".b.test",
                           "*.b.test", "x..b.test", "", "test", "a.test,DNS:d.test", "d.test"}) {
    Result<TlsStream> refused = contexts.accept(0, name, "");
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Code::denied);
  }
}

TEST(Tls, SurvivesMoreNamesThanItKeeps) {
  TlsContexts contexts = contexts_for({".a.test"});
  Sockets sockets = make_sockets();
  TlsStream server = std::move(contexts.accept(sockets.inside.get(), "early.a.test", "")).value();
  for (int i = 0; i < 1100; ++i) ASSERT_TRUE(contexts.accept(0, cat("n", i, ".a.test"), ""));
  TlsStream client = std::move(contexts.connect(sockets.outside.get(), "early.a.test")).value();
  EXPECT_EQ(shake_hands(client, server).first, Status::ok) << client.why();
}

TEST(Tls, RefusesToConnectToWhatIsNotAName) {
  TlsContexts contexts = contexts_for({"a.test"});
  for (const char* name : {"", "192.0.2.1", "[2001:db8::1]", "a.test.", "a b", "*.a.test"})
    EXPECT_FALSE(contexts.connect(0, name)) << name;
}

TEST(Authority, RefusesHostsThatAreNotNames) {
  EXPECT_FALSE(CertificateAuthority::create({}));
  for (const char* host : {"", ".", "*", "a.*.test", "192.0.2.1", "a.test,permitted;DNS:b.test",
                           "A.test", "a..test", "..a.test"})
    EXPECT_FALSE(CertificateAuthority::create({host})) << host;
}

// Whether a certificate for `names`, signed by `authority`, would hold before a verifier that knows
// name constraints.
bool may_speak_for(const CertificateAuthority& authority, const std::string& names) {
  BIO* memory = BIO_new_mem_buf(authority.certificate().data(),
                                static_cast<int>(authority.certificate().size()));
  X509* issuer = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
  BIO_free(memory);
  auto* constraints = static_cast<NAME_CONSTRAINTS*>(
      X509_get_ext_d2i(issuer, NID_name_constraints, nullptr, nullptr));
  EXPECT_NE(constraints, nullptr);
  X509* leaf = X509_new();
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  X509_add_ext(leaf, extension, -1);
  (void)X509_check_purpose(leaf, -1, 0);  // has OpenSSL read the extension
  int verdict = NAME_CONSTRAINTS_check(leaf, constraints);
  X509_EXTENSION_free(extension);
  X509_free(leaf);
  NAME_CONSTRAINTS_free(constraints);
  X509_free(issuer);
  return verdict == X509_V_OK;
}

TEST(Authority, CannotSpeakForOtherNamesEvenWithItsKey) {
  CertificateAuthority authority = authority_for({"a.test", ".b.test"});
  for (const char* names : {"DNS:a.test", "DNS:x.b.test"})
    EXPECT_TRUE(may_speak_for(authority, names)) << names;
  for (const char* names : {"DNS:c.test", "DNS:xa.test", "DNS:test", "IP:192.0.2.1",
                            "IP:2001:db8::1", "DNS:a.test,DNS:c.test"})
    EXPECT_FALSE(may_speak_for(authority, names)) << names;
}

TEST(Authority, IsAnotherEachTime) {
  EXPECT_NE(authority_for({"a.test"}).certificate(), authority_for({"a.test"}).certificate());
}

TEST(Contexts, RefuseATrustBundleWithoutCertificates) {
  Result<TlsContexts> contexts = TlsContexts::create(authority_for({"a.test"}), "nothing here");
  ASSERT_FALSE(contexts);
  EXPECT_EQ(contexts.error().message,
            "read the authorities to trust from the bundle: there is no certificate in it");
}

// From here on the calling process dies with SIGSYS when it makes a system call that egress would
// not be allowed.
void allow_only_what_egress_may() {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (unsigned int call :
       {SYS_read, SYS_write, SYS_recvfrom, SYS_sendto, SYS_mmap, SYS_munmap, SYS_mremap, SYS_brk,
        SYS_madvise, SYS_mprotect, SYS_futex, SYS_getrandom, SYS_clock_gettime, SYS_gettimeofday,
        SYS_getpid, SYS_close, SYS_exit_group}) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(2);
}

TEST(Contexts, NeedNoFilesOnceTheyAreMade) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer makes system calls of its own";
#endif
  // Earlier tests in this process may have loaded some things for the child: alone (--gtest_filter)
  // this is strictest.
  pid_t child = ::fork();
  if (child == 0) {
    Sockets pair = make_sockets(), other_pair = make_sockets();
    TlsContexts contexts = contexts_for({"a.test", ".a.test"});
    allow_only_what_egress_may();
    TlsStream server = std::move(contexts.accept(pair.inside.get(), "new.a.test", "")).value();
    TlsStream client = std::move(contexts.connect(pair.outside.get(), "new.a.test")).value();
    bool worked = shake_hands(client, server).first == Status::ok;

    ServerCertificate shown("b.test", -kDay, kDay);
    Plain stranger(TLS_server_method(), other_pair.outside.get());
    SSL_use_certificate(stranger.ssl(), shown.certificate);
    SSL_use_PrivateKey(stranger.ssl(), shown.key);
    SSL_set_accept_state(stranger.ssl());
    TlsStream suspicious = std::move(contexts.connect(other_pair.inside.get(), "b.test")).value();
    shake_hands([&] { return suspicious.handshake().status; },
                [&] { return stranger.handshake(); });
    bool refused = suspicious.why() == "self-signed certificate";
    ::_exit(worked && refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace paddock::net

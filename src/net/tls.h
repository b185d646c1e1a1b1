// TLS for the few hosts whose requests egress must read. The only file that knows OpenSSL's TLS.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"

namespace paddock::net {

// A certificate authority that lives in this process's memory and nowhere else. Its certificate is
// constrained to `hosts` (a name, or ".name" for everything beneath), so that even its key could
// not speak for any other.
class CertificateAuthority {
 public:
  static Result<CertificateAuthority> create(const std::vector<std::string>& hosts);
  CertificateAuthority(CertificateAuthority&&) noexcept;
  CertificateAuthority& operator=(CertificateAuthority&&) noexcept;
  ~CertificateAuthority();

  const std::string& certificate() const;  // PEM

 private:
  friend class TlsContexts;
  CertificateAuthority();
  struct State;
  std::unique_ptr<State> state_;
};

// One end of a TLS connection over a socket that the caller owns; nothing here waits for it.
// want_read and want_write say what to wait for before the same call is made again; a write is then
// repeated with the same bytes in front (more may follow), and shut_down comes only after the last
// write was taken. A connection that ends without TLS's goodbye has failed: what was read may be
// cut short. A failure is final.
class TlsStream {
 public:
  enum class Status { ok, want_read, want_write, closed, failed };
  struct Done {
    Status status = Status::ok;
    size_t bytes = 0;
  };
  TlsStream(TlsStream&&) noexcept;
  TlsStream& operator=(TlsStream&&) noexcept;
  ~TlsStream();

  Done handshake();
  Done read(char* buffer, size_t size);
  Done write(std::string_view bytes);
  Done shut_down();         // says goodbye; does not wait for the other side
  std::string why() const;  // of the last failure, for people: "certificate has expired", …

 private:
  friend class TlsClient;
  friend class TlsContexts;
  friend class TlsServer;
  struct State;
  explicit TlsStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A server that has a certificate of its own, from PEM files: the chain with the server's first,
// and its key. HTTP/1.1 only.
class TlsServer {
 public:
  static Result<TlsServer> create(const std::string& certificate_file, const std::string& key_file);
  TlsServer(TlsServer&&) noexcept;
  TlsServer& operator=(TlsServer&&) noexcept;
  ~TlsServer();

  Result<TlsStream> accept(int socket);

 private:
  TlsServer();
  struct State;
  std::unique_ptr<State> state_;
};

// A client that checks servers against `trust` (PEM). HTTP/1.1 only.
class TlsClient {
 public:
  static Result<TlsClient> create(const std::string& trust);
  TlsClient(TlsClient&&) noexcept;
  TlsClient& operator=(TlsClient&&) noexcept;
  ~TlsClient();

  // `host`: the name or the address that the certificate must be for.
  Result<TlsStream> connect(int socket, const std::string& host);

 private:
  TlsClient();
  struct State;
  std::unique_ptr<State> state_;
};

// What both sides need, made before the process gives up its files.
class TlsContexts {
 public:
  // `trust`: PEM of the authorities that servers are checked against, as from read_system_bundle().
  static Result<TlsContexts> create(CertificateAuthority authority, const std::string& trust);
  TlsContexts(TlsContexts&&) noexcept;
  TlsContexts& operator=(TlsContexts&&) noexcept;
  ~TlsContexts();

  const std::string& certificate() const;  // the authority's

  // Towards the program inside: speaks for `name` with a certificate made here (and kept for the
  // next time), offering HTTP/1.1 only. `seen`: bytes already read from the socket, which come
  // first. `name` must be one of the authority's.
  Result<TlsStream> accept(int socket, const std::string& name, std::string_view seen);
  // Towards the real server: checks its certificate for `name`, TLS 1.2 or later, HTTP/1.1 only.
  Result<TlsStream> connect(int socket, const std::string& name);

 private:
  TlsContexts();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paddock::net

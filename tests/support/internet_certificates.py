"""A certificate authority of the test's own, and a certificate for each name that somebody asks for. Made by openssl."""
import os
import ssl
import subprocess


def _openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def make_authority(folder):
    """authority.pem and authority.key in `folder`; returns the certificate's path."""
    key, certificate = os.path.join(folder, "authority.key"), os.path.join(folder, "authority.pem")
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    os.chmod(key, 0o600)
    _openssl("req", "-x509", "-new", "-key", key, "-out", certificate, "-days", "30", "-subj", "/CN=Test authority",
             "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    os.chmod(certificate, 0o644)
    return certificate


class ServerContexts:
    """A TLS context whose certificate follows the name that the client asks for."""

    def __init__(self, folder):
        self._folder, self._contexts = folder, {}
        self._key = os.path.join(folder, "server.key")
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self._key)
        self.front = self._context("unnamed.example")
        self.front.sni_callback = self._choose

    def _choose(self, connection, name, _):
        if name:
            connection.context = self._context(name)
            connection.asked_name = name
        return None

    def _context(self, name):
        if name not in self._contexts:
            certificate = os.path.join(self._folder, f"server-{len(self._contexts)}.pem")
            authority = os.path.join(self._folder, "authority")
            _openssl("req", "-x509", "-new", "-key", self._key, "-CA", authority + ".pem", "-CAkey", authority + ".key", "-out", certificate,
                     "-days", "30", "-subj", "/CN=server", "-addext", f"subjectAltName=DNS:{name}", "-addext", "basicConstraints=CA:FALSE")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, self._key)
            context.set_alpn_protocols(["http/1.1"])
            self._contexts[name] = context
        return self._contexts[name]

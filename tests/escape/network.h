// For hostile programs that have a network: an allowlist with one service of the host's loopback on
// it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "hostile.h"

// src/net/synthetic.h: the sandbox's own way out, which is a proxy, too.
enum { kEgressPort = 18128 };

// The end of a case whose network does not work at all: then nothing was attacked.
__attribute__((noreturn, unused)) static void no_network(const char* what) {
  printf("no network: %s: %s\n", what, strerror(errno));
  fflush(stdout);
  _exit(1);
}

__attribute__((unused)) static uint16_t port_argument(int argc, char** argv, int index) {
  return (uint16_t)atoi(argument(argc, argv, index));
}

__attribute__((unused)) static struct sockaddr_in ipv4(const char* address, uint16_t port) {
  struct sockaddr_in result = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, address, &result.sin_addr);
  return result;
}

// What waits longer than this waits for ever.
__attribute__((unused)) static void be_patient(int fd) {
  struct timeval patience = {.tv_sec = 8};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

// A connected socket, or -1.
__attribute__((unused)) static int dial(const char* address, uint16_t port) {
  struct sockaddr_in to = ipv4(address, port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd == -1) return -1;
  be_patient(fd);
  if (connect(fd, (struct sockaddr*)&to, sizeof to) == 0) return fd;
  close(fd);
  return -1;
}

// Reads until the end, the room's end, or `wanted` has come; what was read is text.
__attribute__((unused)) static const char* read_text(int fd, const char* wanted) {
  static char text[65536];
  size_t size = 0;
  text[0] = '\0';
  while (size < sizeof text - 1) {
    ssize_t count = recv(fd, text + size, sizeof text - 1 - size, 0);
    if (count <= 0) break;
    for (ssize_t i = 0; i < count; ++i)
      if (text[size + (size_t)i] == '\0') text[size + (size_t)i] = ' ';
    size += (size_t)count;
    text[size] = '\0';
    if (wanted && strstr(text, wanted)) break;
  }
  return text;
}

__attribute__((unused)) static int says(int fd, const char* wanted) {
  return strstr(read_text(fd, wanted), wanted) != NULL;
}

// The host's allowed service greets with "hello". Without it a refusal would prove nothing.
__attribute__((unused)) static void check_network(uint16_t allowed) {
  int fd = dial("127.0.0.1", allowed);
  if (fd == -1) no_network("connect to the allowed service");
  if (!says(fd, "hello")) no_network("the allowed service does not greet");
  close(fd);
}

// A tunnel through the proxy to the name localhost, for attacks on what is judged by name; or -1.
__attribute__((unused)) static int tunnel(uint16_t port) {
  int fd = dial("127.0.0.1", kEgressPort);
  if (fd == -1) return -1;
  dprintf(fd, "CONNECT localhost:%d HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", port, port);
  if (says(fd, "200 Connection established\r\n\r\n")) return fd;
  close(fd);
  return -1;
}

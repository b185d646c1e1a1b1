// How fast a stream is redacted, beside copying it: redact_bench FILE [CHUNK]
//
// Prints one line of JSON: processor seconds for one memcpy of the file, for redacting it with
// every rule and three known values in chunks, and how many secrets that found. The file is read
// into memory first.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>

#include "redact/redact.h"

namespace {

// Of the processor, not of the clock: what else runs on the machine does not count.
double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace paddock;
  if (argc < 2) return std::fprintf(stderr, "usage: redact_bench FILE [CHUNK]\n"), 1;
  size_t chunk = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64 << 10;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty())
    return std::fprintf(stderr, "redact_bench: nothing to read in %s\n", argv[1]), 1;

  double started = now();
  Result<std::shared_ptr<const redact::Rules>> rules =
      redact::Rules::compile({.secrets = {{"API_KEY", "q7ZpX2mN9vKsT4wRyB8c"},
                                          {"DB_PASSWORD", "correct-horse-battery"},
                                          {"SIGNING", "u/8Lr+TnE5oWqzH3kVdXbA=="}}});
  double compiled = now() - started;
  if (!rules) return std::fprintf(stderr, "redact_bench: %s\n", rules.error().message.c_str()), 1;

  // Touched before it is timed.
  std::string copy(text.size(), '\1'), out(text.size() + (1 << 20), '\1');
  started = now();
  std::memcpy(copy.data(), text.data(), text.size());
  double copying = now() - started;

  out.clear();
  started = now();
  redact::Stream stream(rules.value());
  for (size_t at = 0; at < text.size(); at += chunk)
    stream.feed(std::string_view(text).substr(at, chunk), out);
  stream.finish(out);
  double redacting = now() - started;
  std::printf(
      "{\"bytes\":%zu,\"copy\":%.9f,\"redact\":%.9f,\"compile\":%.9f,\"found\":%llu,\"last\":%d}\n",
      text.size(), copying, redacting, compiled,
      static_cast<unsigned long long>(redact::total(stream.counts())),
      copy.back() ^ copy[copy.size() / 2]);
  return 0;
}

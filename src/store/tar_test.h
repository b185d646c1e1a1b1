// Tarballs as a test wants them, with whatever a well-behaved program would not write.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace paddock::store {

struct TarEntry {
  std::string name;
  // '0' file, '1' hard link, '2' symbolic link, '3' device, '5' directory, '6' fifo.
  char type = '0';
  std::string content, target;
  unsigned mode = 0644;
  uint64_t declared = UINT64_MAX;  // a size other than the content's
};

class Tar {
 public:
  Tar& add(const TarEntry& entry) {
    char header[512] = {};
    uint64_t size = entry.declared == UINT64_MAX ? entry.content.size() : entry.declared;
    std::memcpy(header, entry.name.data(), std::min<size_t>(entry.name.size(), 100));
    (void)std::snprintf(header + 100, 8, "%07o", entry.mode);
    (void)std::snprintf(header + 108, 8, "%07o", 0u);
    (void)std::snprintf(header + 116, 8, "%07o", 0u);
    (void)std::snprintf(header + 124, 12, "%011llo",
                        static_cast<unsigned long long>(size & 077777777777));
    (void)std::snprintf(header + 136, 12, "%011o", 0u);
    header[156] = entry.type;
    std::memcpy(header + 157, entry.target.data(), std::min<size_t>(entry.target.size(), 100));
    std::memcpy(header + 257, "ustar\00000", 8);
    std::memset(header + 148, ' ', 8);
    unsigned sum = 0;
    for (char c : header) sum += static_cast<unsigned char>(c);
    (void)std::snprintf(header + 148, 8, "%06o", sum);
    bytes_.append(header, 512);
    bytes_ += entry.content;
    bytes_.append((512 - entry.content.size() % 512) % 512, '\0');
    return *this;
  }
  std::string bytes() const { return bytes_ + std::string(1024, '\0'); }

 private:
  std::string bytes_;
};

}  // namespace paddock::store

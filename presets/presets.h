// The data of this folder as it was compiled into the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paddock {

struct EmbeddedPreset {
  const char* name;
  const char* json;
};
extern const EmbeddedPreset kEmbeddedPresets[];
extern const size_t kEmbeddedPresetCount;

// A seccomp filter: `size` bytes of struct sock_filter, made for the architecture this was built on.
struct EmbeddedFilter {
  const char* name;
  const uint8_t* bytes;
  size_t size;
};
extern const EmbeddedFilter kEmbeddedFilters[];
extern const size_t kEmbeddedFilterCount;

// The bytes of a filter by its name; empty: there is none.
inline std::string_view embedded_filter(std::string_view name) {
  for (size_t i = 0; i < kEmbeddedFilterCount; ++i)
    if (name == kEmbeddedFilters[i].name) return {reinterpret_cast<const char*>(kEmbeddedFilters[i].bytes), kEmbeddedFilters[i].size};
  return {};
}

}  // namespace paddock

#include "redact/prefilter.h"

#include <algorithm>
#include <cctype>

#ifdef __x86_64__
#include <immintrin.h>
#include <sys/platform/x86.h>
#endif

namespace paddock::redact {

// The three ways to walk. All of them find the same places; tests compare them.
struct PrefilterWays {
  using Walk = Prefilter::Walk;

  static size_t plain(const Prefilter& filter, std::string_view text, size_t from, size_t to,
                      Walk& walk) {
    for (; from < to; ++from)
      if ((walk.groups = filter.groups_at(text, from, walk))) return from;
    return to;
  }

#ifdef __x86_64__
  // Letters and digits by their halves: a bit for each upper half (3 to 7), which the lower half
  // allows or not.
  alignas(16) static constexpr uint8_t kAlnumLow[16] = {0xa8, 0xf8, 0xf8, 0xf8, 0xf8, 0xf8,
                                                        0xf8, 0xf8, 0xf8, 0xf8, 0xf0, 0x50,
                                                        0x50, 0x50, 0x50, 0x50};
  alignas(16) static constexpr uint8_t kAlnumHigh[16] = {0, 0, 0, 0x08, 0x10, 0x20, 0x40, 0x80};

  // The first place of a text has no byte in front to load: it is looked at by itself.
  static bool meets_start(const Prefilter& filter, std::string_view text, size_t to, Walk& walk) {
    if (walk.ahead > 0) return false;
    walk.ahead = 1;
    return to > 0 && (walk.groups = filter.groups_at(text, 0, walk));
  }

  // Keeps the compiler from copying all tables to its stack ahead of the loop, which is short.
  [[gnu::always_inline]] static inline const Prefilter* fresh(const Prefilter* filter) {
    asm volatile("" : "+r"(filter));
    return filter;
  }

  // The next place of the block that the whole table allows as well.
  [[gnu::always_inline]] static inline bool pick(const Prefilter& filter, std::string_view text,
                                                 size_t from, Walk& walk) {
    for (uint32_t bits = walk.bits; bits; bits &= bits - 1) {
      size_t place = walk.block + static_cast<size_t>(__builtin_ctz(bits));
      uint64_t groups = filter.groups_behind(text.data() + place);
      if (!groups || place < from) continue;
      walk.place = place;
      walk.groups = groups;
      walk.bits = bits & (bits - 1);
      return true;
    }
    walk.bits = 0;
    return false;
  }

  // Looks at 32 places at once. Each of the four bytes is looked up by its halves in two sets of
  // eight buckets; neighbours are looked up together, which removes most chance hits.
  [[gnu::target("avx2")]] static size_t avx2(const Prefilter& filter, std::string_view text,
                                             size_t from, size_t to, Walk& walk) {
    constexpr size_t kWidth = 32;
    const __m256i half = _mm256_set1_epi8(0x0f), none = _mm256_setzero_si256();
    const __m256i alnum_low =
        _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(kAlnumLow)));
    const __m256i alnum_high =
        _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(kAlnumHigh)));
    if (from == 0 && meets_start(filter, text, to, walk)) return 0;
    if (pick(filter, text, from, walk)) return std::min(walk.place, to);
    size_t block = std::max(walk.ahead, from);
    for (; block + kWidth + Prefilter::kBytes - 1 <= text.size() && block < to; block += kWidth) {
      const Prefilter* tables = fresh(&filter);
      __m256i found[2], previous = none;
#pragma GCC unroll 4
      for (size_t i = 0; i < Prefilter::kBytes; ++i) {
        __m256i bytes =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data() + block + i));
        __m256i low = _mm256_and_si256(bytes, half),
                high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
        __m256i pair =
            _mm256_xor_si256(previous, _mm256_and_si256(_mm256_srli_epi16(bytes, 1), half));
        previous = low;
#pragma GCC unroll 2
        for (size_t set = 0; set < 2; ++set) {
          __m256i both = _mm256_and_si256(
              _mm256_shuffle_epi8(
                  _mm256_load_si256(reinterpret_cast<const __m256i*>(tables->low_[set][i])), low),
              _mm256_shuffle_epi8(
                  _mm256_load_si256(reinterpret_cast<const __m256i*>(tables->high_[set][i])),
                  high));
          found[set] = i ? _mm256_and_si256(found[set], both) : both;
          if (i)
            found[set] = _mm256_and_si256(
                found[set],
                _mm256_shuffle_epi8(
                    _mm256_load_si256(reinterpret_cast<const __m256i*>(tables->pairs_[set][i - 1])),
                    pair));
        }
      }
      // After a letter or digit only some buckets can begin.
      __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data() + block - 1));
      __m256i other = _mm256_cmpeq_epi8(
          _mm256_and_si256(
              _mm256_shuffle_epi8(alnum_low, _mm256_and_si256(bytes, half)),
              _mm256_shuffle_epi8(alnum_high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half))),
          none);
      found[0] = _mm256_and_si256(
          found[0],
          _mm256_or_si256(other, _mm256_set1_epi8(static_cast<char>(tables->anywhere_[0]))));
      found[1] = _mm256_and_si256(
          found[1],
          _mm256_or_si256(other, _mm256_set1_epi8(static_cast<char>(tables->anywhere_[1]))));
      __m256i nothing = _mm256_cmpeq_epi8(_mm256_or_si256(found[0], found[1]), none);
      uint32_t bits = ~static_cast<uint32_t>(_mm256_movemask_epi8(nothing));
      // Most blocks have two marks or fewer that come to nothing: that is seen without a branch for
      // each.
      uint32_t second = bits & (bits - 1), more = second & (second - 1);
      constexpr uint32_t kLast = uint32_t{1} << (kWidth - 1);
      const char* place = text.data() + block;
      uint64_t groups = filter.groups_behind(place + __builtin_ctz(bits | kLast)) |
                        filter.groups_behind(place + __builtin_ctz(second | kLast));
      if (!(groups | more)) continue;
      walk.bits = bits;
      walk.block = block;
      if (!pick(filter, text, from, walk)) continue;
      walk.ahead = block + kWidth;
      return std::min(walk.place, to);
    }
    walk.ahead = block;
    return plain(filter, text, block, to, walk);
  }

  // The same as avx2() with registers of half the width.
  [[gnu::target("ssse3")]] static size_t ssse3(const Prefilter& filter, std::string_view text,
                                               size_t from, size_t to, Walk& walk) {
    constexpr size_t kWidth = 16;
    const __m128i half = _mm_set1_epi8(0x0f), none = _mm_setzero_si128();
    const __m128i alnum_low = _mm_load_si128(reinterpret_cast<const __m128i*>(kAlnumLow)),
                  alnum_high = _mm_load_si128(reinterpret_cast<const __m128i*>(kAlnumHigh));
    if (from == 0 && meets_start(filter, text, to, walk)) return 0;
    if (pick(filter, text, from, walk)) return std::min(walk.place, to);
    size_t block = std::max(walk.ahead, from);
    for (; block + kWidth + Prefilter::kBytes - 1 <= text.size() && block < to; block += kWidth) {
      const Prefilter* tables = fresh(&filter);
      __m128i found[2], previous = none;
#pragma GCC unroll 4
      for (size_t i = 0; i < Prefilter::kBytes; ++i) {
        __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + block + i));
        __m128i low = _mm_and_si128(bytes, half),
                high = _mm_and_si128(_mm_srli_epi16(bytes, 4), half);
        __m128i pair = _mm_xor_si128(previous, _mm_and_si128(_mm_srli_epi16(bytes, 1), half));
        previous = low;
#pragma GCC unroll 2
        for (size_t set = 0; set < 2; ++set) {
          __m128i both = _mm_and_si128(
              _mm_shuffle_epi8(
                  _mm_load_si128(reinterpret_cast<const __m128i*>(tables->low_[set][i])), low),
              _mm_shuffle_epi8(
                  _mm_load_si128(reinterpret_cast<const __m128i*>(tables->high_[set][i])), high));
          found[set] = i ? _mm_and_si128(found[set], both) : both;
          if (i)
            found[set] = _mm_and_si128(
                found[set],
                _mm_shuffle_epi8(
                    _mm_load_si128(reinterpret_cast<const __m128i*>(tables->pairs_[set][i - 1])),
                    pair));
        }
      }
      __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + block - 1));
      __m128i other = _mm_cmpeq_epi8(
          _mm_and_si128(
              _mm_shuffle_epi8(alnum_low, _mm_and_si128(bytes, half)),
              _mm_shuffle_epi8(alnum_high, _mm_and_si128(_mm_srli_epi16(bytes, 4), half))),
          none);
      found[0] = _mm_and_si128(
          found[0], _mm_or_si128(other, _mm_set1_epi8(static_cast<char>(tables->anywhere_[0]))));
      found[1] = _mm_and_si128(
          found[1], _mm_or_si128(other, _mm_set1_epi8(static_cast<char>(tables->anywhere_[1]))));
      __m128i nothing = _mm_cmpeq_epi8(_mm_or_si128(found[0], found[1]), none);
      walk.bits = static_cast<uint16_t>(~_mm_movemask_epi8(nothing));
      if (!walk.bits) continue;
      walk.block = block;
      if (!pick(filter, text, from, walk)) continue;
      walk.ahead = block + kWidth;
      return std::min(walk.place, to);
    }
    walk.ahead = block;
    return plain(filter, text, block, to, walk);
  }
#endif
};

int Prefilter::ways() {
#ifdef __x86_64__
  // As libc knows it. __builtin_cpu_supports asks the processor again before main, which under a
  // hypervisor costs every start 0.1 ms.
  return CPU_FEATURE_ACTIVE(AVX2) ? 3 : CPU_FEATURE_ACTIVE(SSSE3) ? 2 : 1;
#else
  return 1;
#endif
}

// For tests, which run every way that the processor knows.
void Prefilter::use_way(int way) {
  next_ = &PrefilterWays::plain;
#ifdef __x86_64__
  if (way == 1) next_ = &PrefilterWays::ssse3;
  if (way == 2) next_ = &PrefilterWays::avx2;
#else
  (void)way;
#endif
}

namespace {

// The buckets of some groups, as a bit each.
uint32_t buckets_of(uint64_t groups) {
  uint32_t buckets = 0;
  while (groups) {
    int bucket = __builtin_ctzll(groups) / 4;
    groups &= ~(uint64_t{0xf} << (bucket * 4));
    buckets |= 1u << bucket;
  }
  return buckets;
}

}  // namespace

// Every run pays for this: halves of bytes are looked at, not all 256.
void Prefilter::prepare() {
  // Each table has a row of sixteen for either half of the buckets, twice.
  auto mark = [](auto& tables, size_t i, size_t index, uint64_t groups) {
    uint32_t buckets = buckets_of(groups);
    for (size_t set = 0; set < 2; ++set)
      for (size_t lane : {size_t{0}, size_t{16}})
        tables[set][i][lane + index] |= static_cast<uint8_t>(buckets >> (set * 8));
  };
  uint64_t previous[16] = {};
  for (size_t i = 0; i < kBytes; ++i) {
    uint64_t low[16] = {}, high[16] = {}, one_up[16] = {}, pairs[16] = {};
    for (size_t byte = 0; byte < 256; ++byte) {
      low[byte & 15] |= first[i][byte];
      high[byte >> 4] |= first[i][byte];
      one_up[byte >> 1 & 15] |= first[i][byte];
    }
    for (size_t a = 0; a < 16; ++a)
      for (size_t b = 0; b < 16; ++b) pairs[a ^ b] |= previous[a] & one_up[b];
    for (size_t k = 0; k < 16; ++k) {
      mark(low_, i, k, low[k]);
      mark(high_, i, k, high[k]);
      if (i) mark(pairs_, i - 1, k, pairs[k]);
    }
    std::copy(low, low + 16, previous);
  }
  uint64_t behind_letters = 0;
  for (size_t byte = 0; byte < 128; ++byte)
    if (std::isalnum(static_cast<int>(byte))) behind_letters |= before[byte];
  for (size_t group = 0; group < 64; ++group)
    if (behind_letters >> group & 1)
      anywhere_[group / 32] |= static_cast<uint8_t>(1 << (group / 4 % 8));
  use_way(ways() - 1);
}

}  // namespace paddock::redact

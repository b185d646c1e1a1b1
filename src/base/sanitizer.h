// Whether this program was built with a sanitizer. Its shadow memory is larger than any limit on
// memory allows.
#pragma once

namespace paddock {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace paddock

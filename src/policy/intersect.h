// Layers of policy into one. What a layer sets can only be narrowed by another; what none sets
// comes from a fallback. Each key has its own rule of narrowing (keys.cc, narrowing.h); the table
// in docs/policy.md has them in words.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::policy {

struct Layer {
  Policy policy;
  // Named by the caller. A preset that a file extends is not, and has no say in [danger].
  bool named = true;
};

// Something that the call asked for and does not get, and the layer that stands against it.
struct Refusal {
  // In words, such as "memory", "2G", "strict" and "allows 128M".
  std::string key, asked, layer, answer;
  // The entry opens more than one owner's hosts, as "*" does.
  bool is_wide_network = false;
};
// "memory: 2G asked for, policy 'strict' allows 128M".
std::string to_string(const Refusal& refusal);

struct Combined {
  Policy policy;
  // In words: what a file asked for and the preset that it extends narrowed.
  std::vector<std::string> notes;
  // The parts of `call` that were narrowed.
  std::vector<Refusal> refusals;
};

// `call` is what stands on the command line: one more layer, last, without a say in [danger]. Who
// asked for more than the layers allow must hear of it: refusals are an error (refused), unless
// nobody asked for them by name. Every policy must have been decoded: paths absolute, network
// entries canonical. `wide` says when entries such as "*" need their danger accepted: now, or once
// calls have narrowed what is combined here.
enum class WideNetwork { checked, left_to_calls };
Result<Combined> combine(const std::vector<Layer>& layers, const Policy& call,
                         const Policy& fallback, WideNetwork wide = WideNetwork::checked);

// Code::denied with all of them, when there are any.
Result<void> refused(const std::vector<Refusal>& refusals, const std::string& hint);

}  // namespace paddock::policy

// Where the schemas of a document are and what they are called: $id, $anchor, $dynamicAnchor, and
// what a reference points to. Holds pointers into the document, so it lives no longer than the
// compiler's run over it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/value.h"
#include "schema/uri.h"

namespace paddock::schema {

enum class Dialect { draft7, draft2020 };

// A part of the document with a URI of its own: the whole, and every schema with an $id.
struct Resource {
  Uri base;
  const Value* root = nullptr;
  Dialect dialect = Dialect::draft2020;
  // Both kinds.
  std::map<std::string, const Value*> anchors;
  std::map<std::string, const Value*> dynamic_anchors;
};

struct Spot {
  uint32_t resource = 0;
  // In the whole document.
  std::string pointer;
};

class Index {
 public:
  static Result<Index> build(const Value& document);

  struct Target {
    const Value* schema = nullptr;
    // Its name, if the reference named a dynamic anchor.
    std::string dynamic_anchor;
  };
  // `from` is the schema that the reference stands in. What it points to is in the index
  // afterwards.
  Result<Target> resolve(const Value* from, const std::string& reference);

  const Spot& spot(const Value* schema) const { return spots_.at(schema); }
  Dialect dialect(const Value* schema) const { return resources_[spot(schema).resource].dialect; }
  const std::vector<Resource>& resources() const { return resources_; }

 private:
  Result<void> add(const Value& schema, uint32_t resource, const std::string& pointer);
  Result<uint32_t> name(const Value& schema, uint32_t resource, const std::string& pointer);
  Result<void> add_anchor(const Value& schema, const char* keyword, uint32_t resource,
                          const std::string& pointer);
  Result<const Value*> follow(uint32_t resource, const std::string& pointer,
                              const std::string& reference);

  std::vector<Resource> resources_;
  std::map<std::string, uint32_t> by_uri_;
  std::unordered_map<const Value*, Spot> spots_;
};

// "/a~1b" for "a/b".
std::string pointer_token(std::string_view key);

// "schema/properties/to: why".
Error schema_error(const std::string& pointer, std::string_view why, std::string hint = "");

}  // namespace paddock::schema

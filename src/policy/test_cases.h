// For the tests of this folder: the decision cases in tests/cases/policy.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "base/value.h"

namespace paddock::policy {

// The entries of one array in tests/cases/policy/FILE. A file that cannot be read fails the test
// and has no entries.
inline std::vector<Value> test_cases(const std::string& file, const char* array) {
  Result<std::string> text = read_file(cat(PADDOCK_SOURCE_DIR, "/tests/cases/policy/", file));
  Result<Value> root = text ? parse_toml(text.value(), file) : Result<Value>(text.error());
  const Value* cases = root ? root.value().find(array) : nullptr;
  if (!root) ADD_FAILURE() << root.error().message;
  if (!cases || !cases->as_array() || cases->as_array()->empty()) {
    ADD_FAILURE() << file << " has no " << array;
    return {};
  }
  return *cases->as_array();
}

inline std::string text_of(const Value& entry, const char* key) {
  const Value* value = entry.find(key);
  return value && value->as_string() ? *value->as_string() : "";
}

inline std::vector<std::string> texts_of(const Value& entry, const char* key) {
  std::vector<std::string> texts;
  if (const Value* list = entry.find(key))
    for (const Value& item : *list->as_array()) texts.push_back(*item.as_string());
  return texts;
}

// "limits.memory" in a tree of tables; null when absent.
inline const Value* at_path(const Value& root, const std::string& path) {
  const Value* value = &root;
  for (const std::string& key : split(path, '.'))
    if (value) value = value->find(key);
  return value;
}

// Each member of `expected` names a key's path and the value that must stand there.
inline void expect_keys(const Value& actual, const Value* expected) {
  if (!expected) return;
  for (const auto& [path, value] : *expected->as_object()) {
    const Value* found = at_path(actual, path);
    EXPECT_EQ(found ? to_json(*found) : "absent", to_json(value)) << path;
  }
}

}  // namespace paddock::policy

// References inside a schema are URIs (RFC 3986): split, and resolved against what is around them.
// Nothing is fetched.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paddock::schema {

struct Uri {
  // Empty in a relative reference.
  std::string scheme;
  std::optional<std::string> authority;
  std::string path;
  std::optional<std::string> query;
  std::optional<std::string> fragment;

  // Takes any text apart, whatever its characters.
  static Uri parse(std::string_view text);
  std::string text() const;
};

// As RFC 3986, 5.2 describes it.
Uri resolve(const Uri& base, const Uri& reference);

// Whether a text is one, also with letters of all scripts (an IRI), or a template (RFC 6570).
bool is_uri(std::string_view text);
bool is_uri_reference(std::string_view text);
bool is_iri(std::string_view text);
bool is_iri_reference(std::string_view text);
bool is_uri_template(std::string_view text);

bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);

}  // namespace paddock::schema

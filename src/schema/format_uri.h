// RFC 3986 and its relatives: URIs, with letters of all scripts (IRIs), and templates (RFC 6570).
#pragma once

#include <string_view>

namespace paddock::schema {

bool is_uri(std::string_view text);
bool is_uri_reference(std::string_view text);
bool is_iri(std::string_view text);
bool is_iri_reference(std::string_view text);
bool is_uri_template(std::string_view text);

bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);

}  // namespace paddock::schema

#include "base/error_table.h"

namespace paddock {

namespace {

// The first row of a name is what the name is read as; the first row of a kind has its code.
constexpr ErrorRow kRows[] = {
    {Code::invalid, Kind::none, 400, "invalid_argument", 400, true},
    {Code::denied, Kind::none, 403, "permission_denied", 403, false},
    {Code::unsupported, Kind::unimplemented, 400, "unimplemented", 501, true},
    {Code::unsupported, Kind::none, 400, "unimplemented", 501, true},
    {Code::not_found, Kind::none, 404, "not_found", 404, true},
    {Code::conflict, Kind::already_exists, 409, "already_exists", 409, true},
    {Code::conflict, Kind::none, 409, "already_exists", 409, true},
    {Code::exhausted, Kind::none, 429, "resource_exhausted", 429, true},
    {Code::internal, Kind::none, 500, "internal", 500, true},
    {Code::io, Kind::none, 500, "internal", 500, true},
    {Code::io, Kind::unavailable, 500, "unavailable", 503, false},
    {Code::conflict, Kind::canceled, 409, "canceled", 499, false},
    {Code::io, Kind::deadline_exceeded, 500, "deadline_exceeded", 504, false},
    {Code::conflict, Kind::failed_precondition, 409, "failed_precondition", 400, true},
    {Code::conflict, Kind::aborted, 409, "aborted", 409, false},
    {Code::denied, Kind::unauthenticated, 403, "unauthenticated", 401, true},
    {Code::io, Kind::unknown, 500, "unknown", 500, true},
    {Code::io, Kind::unrecorded, 503, "unavailable", 503, false},
    {Code::exhausted, Kind::unrecorded, 507, "resource_exhausted", 429, false},
    {Code::conflict, Kind::gone, 409, "unavailable", 503, false},
    {Code::invalid, Kind::malformed, 422, "invalid_argument", 400, false},
    {Code::invalid, Kind::too_large, 400, "resource_exhausted", 429, false},
};

}  // namespace

// A kind may stand with a code that has no row of its own; then the first row of the kind is used.
// There is a row for every kind.
const ErrorRow& error_row(Code code, Kind kind) {
  const ErrorRow* of_kind = nullptr;
  for (const ErrorRow& row : kRows) {
    if (row.kind != kind) continue;
    if (row.code == code) return row;
    if (!of_kind) of_kind = &row;
  }
  return *of_kind;
}

const ErrorRow* find_connect_code(std::string_view name) {
  for (const ErrorRow& row : kRows)
    if (name == row.connect) return &row;
  return nullptr;
}

Error make_error(Kind kind, std::string message) {
  for (const ErrorRow& row : kRows)
    if (row.kind == kind) return Error{row.code, std::move(message), "", kind};
  return Error{Code::internal, std::move(message), "", kind};
}

int http_status(const Error& error) { return error_row(error.code, error.kind).http; }
int http_status(Code code) { return error_row(code, Kind::none).http; }
const char* connect_code(const Error& error) { return error_row(error.code, error.kind).connect; }
int connect_status(const Error& error) { return error_row(error.code, error.kind).connect_http; }

}  // namespace paddock

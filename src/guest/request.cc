#include "guest/request.h"

#include <cerrno>
#include <cstring>

#include "base/error_table.h"
#include "base/text.h"

namespace paddock::guest {

namespace {

// As long as a path may be for the kernel, with its terminating NUL.
constexpr size_t kLongestPath = 4096;

Error wrong(std::string_view key, const char* what) {
  return refuse(Code::invalid, cat("'", key, "' is not ", what));
}

}  // namespace

Error refuse(Code code, std::string message) { return Error{code, std::move(message)}; }
Error refuse(Kind kind, std::string message) { return make_error(kind, std::move(message)); }

// Permission errors are the requester's fault here: the path was not one for this user.
Error refuse_errno(int number, std::string_view what) {
  std::string why = ::strerror(number);
  if (!why.empty()) why[0] = static_cast<char>(why[0] | 0x20);
  std::string message = cat(what, ": ", why);
  switch (number) {
    case ENOENT: return refuse(Code::not_found, message);
    case EEXIST: return refuse(Kind::already_exists, message);
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case EACCES:
    case EPERM:
    case EROFS: return refuse(Code::invalid, message);
    case ELOOP:
    case ENOTEMPTY:
    case EBUSY:
    case ETXTBSY: return refuse(Kind::failed_precondition, message);
    case ENOSPC:
    case EDQUOT: return refuse(Code::exhausted, cat(what, ": not enough disk space"));
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN: return refuse(Code::exhausted, message);
    default: return refuse(Code::internal, message);
  }
}

const char* wire_code(const Error& error) {
  if (error.kind != Kind::none) return connect_code(error);
  switch (error.code) {
    // Errors of the libraries below have no kind. This one means that the state did not fit.
    case Code::conflict: return "failed_precondition";
    // These are about what the guest itself may do, and say nothing about the request.
    case Code::denied:
    case Code::unsupported: return "internal";
    default: return connect_code(error);
  }
}

// A guest that claims, say, a failed authentication could mislead clients, so only some codes are
// accepted from it.
Error from_wire(std::string_view code, std::string message) {
  const ErrorRow* row = find_connect_code(code);
  if (!row || !row->from_guest) return make_error(Kind::unknown, std::move(message));
  return Error{row->code, std::move(message), "", row->kind};
}

Result<std::string> text_of(const Value& request, std::string_view key, std::string otherwise) {
  const Value* value = request.find(key);
  if (!value || value->is_null()) return otherwise;
  if (!value->as_string()) return wrong(key, "a text");
  return *value->as_string();
}

Result<bool> flag_of(const Value& request, std::string_view key, bool otherwise) {
  const Value* value = request.find(key);
  if (!value || value->is_null()) return otherwise;
  if (!value->as_bool()) return wrong(key, "true or false");
  return *value->as_bool();
}

Result<std::optional<int64_t>> number_of(const Value& request, std::string_view key, int64_t least,
                                         int64_t most) {
  const Value* value = request.find(key);
  if (!value || value->is_null()) return std::optional<int64_t>();
  if (!value->as_int() || *value->as_int() < least || *value->as_int() > most)
    return refuse(Code::invalid, cat("'", key, "' is not a number from ", least, " to ", most));
  return std::optional<int64_t>(*value->as_int());
}

Result<std::vector<std::string>> texts_of(const Value& request, std::string_view key) {
  std::vector<std::string> texts;
  const Value* value = request.find(key);
  if (!value || value->is_null()) return texts;
  if (!value->as_array()) return wrong(key, "a list of texts");
  for (const Value& item : *value->as_array()) {
    if (!item.as_string() || item.as_string()->find('\0') != std::string::npos)
      return wrong(key, "a list of texts");
    texts.push_back(*item.as_string());
  }
  return texts;
}

Result<std::map<std::string, std::string>> pairs_of(const Value& request, std::string_view key) {
  std::map<std::string, std::string> pairs;
  const Value* value = request.find(key);
  if (!value || value->is_null()) return pairs;
  if (!value->as_object()) return wrong(key, "a table of texts");
  for (const auto& [name, item] : *value->as_object()) {
    if (!item.as_string() || name.find('\0') != std::string::npos ||
        item.as_string()->find('\0') != std::string::npos)
      return wrong(key, "a table of texts");
    pairs[name] = *item.as_string();
  }
  return pairs;
}

Result<std::string> path_of(const Value& request, std::string_view key) {
  std::string path = TRY(text_of(request, key));
  if (path.find('\0') != std::string::npos) return wrong(key, "a path");
  if (path.size() >= kLongestPath) return refuse(Code::invalid, cat("'", key, "' is too long"));
  return path;
}

}  // namespace paddock::guest

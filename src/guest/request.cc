#include "guest/request.h"

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace paddock::guest {

namespace {

constexpr size_t kLongestPath = 4096;

Error wrong(std::string_view key, const char* what) {
  return refuse("invalid_argument", cat("'", key, "' is not ", what));
}

}  // namespace

Error refuse(const char* code, std::string message) {
  return Error{Code::invalid, std::move(message), code};
}

Error refuse_errno(int number, std::string_view what) {
  const char* code = "internal";
  switch (number) {
    case ENOENT: code = "not_found"; break;
    case EEXIST: code = "already_exists"; break;
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case EACCES:
    case EPERM:
    case EROFS: code = "invalid_argument"; break;
    case ELOOP:
    case ENOTEMPTY:
    case EBUSY:
    case ETXTBSY: code = "failed_precondition"; break;
    case ENOSPC:
    case EDQUOT: return refuse("resource_exhausted", cat(what, ": not enough disk space"));
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN: code = "resource_exhausted"; break;
    default: break;
  }
  std::string why = ::strerror(number);
  if (!why.empty()) why[0] = static_cast<char>(why[0] | 0x20);
  return refuse(code, cat(what, ": ", why));
}

const char* wire_code(const Error& error) {
  static constexpr const char* kCodes[] = {"not_found",
                                           "invalid_argument",
                                           "already_exists",
                                           "failed_precondition",
                                           "resource_exhausted",
                                           "unauthenticated",
                                           "unimplemented",
                                           "internal",
                                           "unknown",
                                           "canceled"};
  for (const char* code : kCodes)
    if (error.hint == code) return code;
  switch (error.code) {
    case Code::not_found: return "not_found";
    case Code::invalid: return "invalid_argument";
    case Code::conflict: return "failed_precondition";
    case Code::exhausted: return "resource_exhausted";
    default: return "internal";
  }
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
    return refuse("invalid_argument",
                  cat("'", key, "' is not a number from ", least, " to ", most));
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
  if (path.size() >= kLongestPath)
    return refuse("invalid_argument", cat("'", key, "' is too long"));
  return path;
}

}  // namespace paddock::guest

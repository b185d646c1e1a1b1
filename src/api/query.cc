// Percent-encoding, query strings, and what HTTP's numbers are called.
#include <algorithm>

#include "api/exchange.h"

namespace paddock::api {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string percent_decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) {
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return decoded;
}

std::string percent_encode(std::string_view text) {
  static const char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (char c : text) {
    if (is_plain(c))
      encoded += c;
    else
      encoded += {'%', kHex[static_cast<unsigned char>(c) >> 4], kHex[c & 15]};
  }
  return encoded;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query,
                                                             bool plus_is_blank) {
  std::vector<std::pair<std::string, std::string>> pairs;
  auto decode = [&](std::string_view text) {
    std::string copy(text);
    if (plus_is_blank) std::replace(copy.begin(), copy.end(), '+', ' ');
    return percent_decode(copy);
  };
  while (!query.empty()) {
    size_t end = std::min(query.find('&'), query.size());
    std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    size_t equals = std::min(pair.find('='), pair.size());
    pairs.emplace_back(decode(pair.substr(0, equals)),
                       decode(pair.substr(std::min(equals + 1, pair.size()))));
  }
  return pairs;
}

const char* reason_of(int status) {
  switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 507: return "Insufficient Storage";
    default: return status < 400 ? "OK" : "Error";
  }
}

}  // namespace paddock::api

// The request of sudo: from the command line, to bytes, and back.
#include <sys/socket.h>

#include <charconv>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "guest/request.h"
#include "guest/sudo.h"

namespace paddock::guest {

namespace {

constexpr int kMostTexts = 65'535;
constexpr const char* kUsage =
    "usage: sudo [-EHinSsv] [-g group] [-u user] [-D directory] [VAR=value] [command [arg ...]]\n";

// Each text is a u32 length, little-endian, and its bytes.
void add(std::string_view text, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(text.size() >> shift & 0xff);
  out += text;
}

// A list is its length as a text, and then its texts.
void add(const std::vector<std::string>& texts, std::string& out) {
  add(cat(texts.size()), out);
  for (const std::string& text : texts) add(text, out);
}

// Reads what `add` wrote. The bytes come from any program inside, so every length is checked, and
// NUL is refused: these texts go to the kernel as C strings.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<std::string> text() {
    if (bytes_.size() < 4) return bad();
    size_t size = 0;
    for (int i = 3; i >= 0; --i)
      size = size << 8 | static_cast<uint8_t>(bytes_[static_cast<size_t>(i)]);
    if (size > bytes_.size() - 4) return bad();
    std::string text(bytes_.substr(4, size));
    bytes_.remove_prefix(4 + size);
    if (text.find('\0') != std::string::npos) return bad();
    return text;
  }
  // An empty text, or a number that a u16 holds.
  Result<std::optional<int>> size() {
    std::string digits = TRY(text());
    if (digits.empty()) return std::optional<int>();
    int number = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number < 0 ||
        number > kMostTexts)
      return bad();
    return std::optional<int>(number);
  }
  Result<std::vector<std::string>> texts() {
    std::optional<int> count = TRY(size());
    if (!count) return bad();
    std::vector<std::string> texts;
    for (int i = 0; i < *count; ++i) texts.push_back(TRY(text()));
    return texts;
  }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  static Error bad() { return refuse(Code::invalid, "not a request of sudo"); }
  std::string_view bytes_;
};

// "A=b", but not "./a=b", which is a program.
bool is_assignment(const std::string& text) {
  size_t equals = text.find('=');
  return equals != std::string::npos && equals > 0 && text.find('/') > equals;
}

// Reads a command line option by option, as sudo does, and accepts options that make no difference
// here.
class Parser {
 public:
  explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  SudoCommand parse() {
    while (at_ < arguments_.size() && command_.status < 0) {
      const std::string& argument = arguments_[at_];
      if (argument == "--") {
        ++at_;
        break;
      }
      if (is_assignment(argument) && argument[0] != '-') {
        command_.request.assignments.push_back(arguments_[at_++]);
        continue;
      }
      if (argument.size() < 2 || argument[0] != '-') break;
      ++at_;
      if (argument[1] == '-') {
        take_long(argument.substr(2));
      } else {
        take_short(argument.substr(1));
      }
    }
    if (command_.status >= 0) return command_;
    while (at_ < arguments_.size() && is_assignment(arguments_[at_]))
      command_.request.assignments.push_back(arguments_[at_++]);
    command_.request.argv.assign(arguments_.begin() + static_cast<std::ptrdiff_t>(at_),
                                 arguments_.end());
    bool shell = command_.request.login || command_.request.shell;
    if (!command_.request.argv.empty() || shell) return command_;
    if (asks_nothing_) return done(0, "");
    return done(1, kUsage);
  }

 private:
  SudoCommand done(int status, std::string say) {
    command_.status = status;
    command_.say = std::move(say);
    return command_;
  }

  // The value of an option: the rest of the same argument, or the next one.
  std::string value(std::string_view rest, std::string_view name) {
    if (!rest.empty()) return std::string(rest);
    if (at_ < arguments_.size()) return arguments_[at_++];
    done(1, cat("sudo: option requires an argument -- '", name, "'\n", kUsage));
    return "";
  }

  void take_short(std::string_view letters) {
    while (!letters.empty() && command_.status < 0) {
      char letter = letters[0];
      letters.remove_prefix(1);
      if (std::string_view("ugpCDRTrt").find(letter) != std::string_view::npos) {
        take_value(letter, value(letters, std::string(1, letter)));
        return;
      }
      take_flag(letter);
    }
  }

  void take_value(char letter, std::string value) {
    if (letter == 'u') command_.request.user = starts_with(value, "#") ? value.substr(1) : value;
    if (letter == 'g') command_.request.group = starts_with(value, "#") ? value.substr(1) : value;
    if (letter == 'D') command_.request.cwd = value;
  }

  void take_flag(char letter) {
    switch (letter) {
      case 'E': command_.request.keep_environment = true; return;
      case 'i': command_.request.login = true; return;
      case 's': command_.request.shell = true; return;
      case 'v':
      case 'k':
      case 'K': asks_nothing_ = true; return;
      case 'H':  // the home is the other user's anyway
      case 'n':  // nobody is ever asked for anything
      case 'S':
      case 'A':
      case 'B':
      case 'P': return;
      case 'h': done(0, kUsage); return;
      case 'V': done(0, "Sudo version " PADDOCK_VERSION " (Paddock)\n"); return;
      case 'l':
        done(0,
             "User may run the following commands on this sandbox:\n    (ALL : ALL) NOPASSWD: "
             "ALL\n");
        return;
      default: done(1, cat("sudo: invalid option -- '", letter, "'\n", kUsage)); return;
    }
  }

  void take_long(const std::string& text) {
    std::string name = text.substr(0, text.find('=')),
                rest = text.size() > name.size() ? text.substr(name.size() + 1) : "";
    static constexpr std::pair<std::string_view, char> kNames[] = {
        {"user", 'u'},     {"group", 'g'},           {"chdir", 'D'},
        {"prompt", 'p'},   {"login", 'i'},           {"shell", 's'},
        {"set-home", 'H'}, {"non-interactive", 'n'}, {"stdin", 'S'},
        {"validate", 'v'}, {"reset-timestamp", 'k'}, {"remove-timestamp", 'K'},
        {"help", 'h'},     {"version", 'V'},         {"list", 'l'},
        {"askpass", 'A'},  {"preserve-env", 'E'},    {"preserve-groups", 'P'}};
    for (const auto& [known, letter] : kNames) {
      if (known != name) continue;
      if (std::string_view("ugDp").find(letter) != std::string_view::npos)
        return take_value(letter, value(rest, name));
      // "preserve-env=LIST" keeps the whole environment, since nothing here is kept from anyone.
      return take_flag(letter);
    }
    done(1, cat("sudo: unrecognized option '--", name, "'\n", kUsage));
  }

  const std::vector<std::string>& arguments_;
  size_t at_ = 0;
  bool asks_nothing_ = false;
  SudoCommand command_;
};

}  // namespace

bool send_with_descriptors(int socket, std::string_view bytes,
                           const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * 3)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
  std::memcpy(CMSG_DATA(head), descriptors.data(), sizeof(int) * descriptors.size());
  ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  if (sent <= 0) return false;
  bytes.remove_prefix(static_cast<size_t>(sent));
  return bytes.empty() || static_cast<bool>(write_all(socket, bytes));
}

SudoCommand parse_sudo(const std::vector<std::string>& arguments) {
  return Parser(arguments).parse();
}

std::string encode(const SudoRequest& request) {
  std::string out;
  add(request.user, out);
  add(request.group, out);
  add(request.cwd, out);
  add(cat(request.login ? "i" : "", request.shell ? "s" : "", request.keep_environment ? "E" : ""),
      out);
  add(request.terminal ? cat(request.terminal->rows) : "", out);
  add(request.terminal ? cat(request.terminal->columns) : "", out);
  add(request.argv, out);
  add(request.assignments, out);
  add(request.environment, out);
  return out;
}

Result<SudoRequest> decode_sudo(std::string_view bytes) {
  Reader reader(bytes);
  SudoRequest request;
  request.user = TRY(reader.text());
  request.group = TRY(reader.text());
  request.cwd = TRY(reader.text());
  std::string flags = TRY(reader.text());
  request.login = flags.find('i') != std::string::npos;
  request.shell = flags.find('s') != std::string::npos;
  request.keep_environment = flags.find('E') != std::string::npos;
  std::optional<int> rows = TRY(reader.size()), columns = TRY(reader.size());
  if (rows && columns) request.terminal = TerminalSize{*rows, *columns};
  request.argv = TRY(reader.texts());
  request.assignments = TRY(reader.texts());
  request.environment = TRY(reader.texts());
  if (!reader.is_at_end()) return refuse(Code::invalid, "not a request of sudo");
  return request;
}

}  // namespace paddock::guest

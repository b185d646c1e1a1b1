#include "probe/probe.h"

#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "base/value.h"

namespace paddock::probe {

namespace {

// The whole text must be a number.
template <class T>
Result<void> parse_number(const std::string& text, T& number) {
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size())
    return Error{Code::invalid, cat("'", printable(text), "' is not a number"), ""};
  return {};
}

// Reads "path:device:inode". The path may contain colons, so the last two count.
Result<HostFile> parse_file(const std::string& text) {
  size_t last = text.rfind(':'), middle = last == std::string::npos || last == 0
                                              ? std::string::npos
                                              : text.rfind(':', last - 1);
  if (middle == std::string::npos)
    return Error{Code::invalid, cat("'", printable(text), "' is not path:device:inode"), ""};
  HostFile file{text.substr(0, middle)};
  TRY(parse_number(text.substr(middle + 1, last - middle - 1), file.device));
  TRY(parse_number(text.substr(last + 1), file.inode));
  return file;
}

}  // namespace

// Unknown words are errors: a target that is ignored would look like one that held.
Result<Targets> parse_targets(const std::vector<std::string>& words) {
  Targets targets;
  for (const std::string& word : words) {
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals),
                value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "pid")
      TRY(parse_number(value, targets.pid));
    else if (name == "start_time")
      targets.start_time = value;
    else if (name == "signal")
      TRY(parse_number(value, targets.signal));
    else if (name == "signal_value")
      TRY(parse_number(value, targets.signal_value));
    else if (name == "marker")
      targets.marker = TRY(parse_file(value));
    else if (name == "folder")
      targets.folder = value;
    else if (name == "port4")
      TRY(parse_number(value, targets.port4));
    else if (name == "port6")
      TRY(parse_number(value, targets.port6));
    else if (name == "egress")
      targets.egress = value == "true";
    else if (name == "abstract_socket")
      targets.abstract_socket = value;
    else if (name == "path_socket")
      targets.path_socket = value;
    else if (name == "shared_memory")
      TRY(parse_number(value, targets.shared_memory));
    else if (name == "shared_text")
      targets.shared_text = value;
    else if (name == "denied")
      targets.denied.push_back(TRY(parse_file(value)));
    else if (name == "hidden")
      targets.hidden.push_back(value);
    else if (name == "environment")
      targets.environment.push_back(value);
    else if (starts_with(name, "namespace."))
      targets.namespaces[name.substr(std::strlen("namespace."))] = value;
    else if (name == "tmp_exec")
      targets.tmp_exec = value == "true";
    else
      return Error{Code::invalid, cat("there is no target '", printable(name), "'"), ""};
  }
  return targets;
}

// One write for each line, so that lines of children do not mix.
void Answers::print(const std::string& probe, const char* answer, const std::string& detail) const {
  Value line;
  line.set("group", group_);
  line.set("probe", probe);
  line.set("answer", answer);
  line.set("detail", detail);
  (void)write_all(STDOUT_FILENO, to_json(line) + "\n");
}

// errno must still be that of the attempt.
void Answers::judge(const std::string& probe, bool succeeded,
                    const std::string& what_worked) const {
  if (succeeded)
    failed(probe, what_worked);
  else
    held(probe, std::strerror(errno));
}

// The last line tells the caller that no check ended the process.
void check_all(const Targets& targets) {
  check_files(targets);
  check_processes(targets);
  check_network(targets);
  check_egress(targets);
  check_privileges(targets);
  check_system_calls(targets);
  check_surroundings(targets);
  (void)write_all(STDOUT_FILENO, "{\"done\":true}\n");
}

// The child never returns to the caller's code, whatever `body` does.
int in_child(const std::function<int()>& body) {
  pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) ::_exit(body());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

// Where the sandbox lets programs write.
std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

}  // namespace paddock::probe

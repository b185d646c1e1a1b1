// start: measures how long commands take from just before they are started to their first byte of
// output and to their end. Every round runs each command once, in a new random order, so that what
// disturbs the machine disturbs all alike.
//
//   start COMMANDS ROUNDS WARM_UP > results.json
//
// COMMANDS has one command per line, its fields separated by tabs:
//   contender  workload  first|end  uid  mount-namespace-file  program  argument…
// "first": the time to the first byte of output counts too. A uid other than "-" is taken in the
// child itself, so that no helper program is measured; so is a mount namespace. "{id}" in an
// argument becomes a new number at every start.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

struct Command {
  std::string contender, workload;
  bool wants_output = false;
  int uid = -1;
  int mount_namespace = -1;
  std::vector<std::string> argv;
  std::vector<double> first_us, end_us;  // one of each per round
  int failures = 0;
};

double now_us() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "start: %s\n", what.c_str());
  std::exit(1);
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  for (size_t begin = 0; begin <= line.size();) {
    size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

std::vector<Command> read_commands(const char* path) {
  std::vector<Command> commands;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields = split(line);
    if (fields.size() < 6) fail("a line of commands has less than six fields: " + line);
    Command command{
        .contender = fields[0], .workload = fields[1], .wants_output = fields[2] == "first"};
    if (fields[3] != "-") command.uid = std::stoi(fields[3]);
    if (fields[4] != "-") command.mount_namespace = ::open(fields[4].c_str(), O_RDONLY | O_CLOEXEC);
    if (fields[4] != "-" && command.mount_namespace < 0) fail("cannot open " + fields[4]);
    command.argv.assign(fields.begin() + 5, fields.end());
    commands.push_back(std::move(command));
  }
  if (commands.empty()) fail(std::string("no commands in ") + path);
  return commands;
}

// Raw system calls: the wrappers for these may touch memory that a vfork child shares with us.
[[noreturn]] void become(const Command& command, char* const* argv, int null, int output) {
  if (command.mount_namespace >= 0 &&
      ::syscall(SYS_setns, command.mount_namespace, CLONE_NEWNS) != 0)
    ::_exit(254);
  if (command.uid >= 0) {
    if (::syscall(SYS_setgroups, 0, nullptr) != 0 ||
        ::syscall(SYS_setresgid, command.uid, command.uid, command.uid) != 0 ||
        ::syscall(SYS_setresuid, command.uid, command.uid, command.uid) != 0)
      ::_exit(254);
  }
  ::dup2(null, 0);
  ::dup2(output, 1);
  ::dup2(null, 2);
  ::execv(argv[0], argv);
  ::_exit(255);
}

void on_alarm(int) {}  // only so that a hanging wait returns

// Runs `command` once. False if it failed or hung.
bool run_once(const Command& command, double* first_us, double* end_us) {
  static int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  static int number = 0;
  std::vector<std::string> words = command.argv;
  for (std::string& word : words)
    if (size_t at = word.find("{id}"); at != std::string::npos)
      word.replace(at, 4, std::to_string(++number));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int pipe[2];
  if (null < 0 || ::pipe2(pipe, O_CLOEXEC) != 0) fail("cannot make a pipe");

  ::alarm(60);
  double begin = now_us();
  pid_t pid = ::vfork();
  if (pid == 0) become(command, argv.data(), null, pipe[1]);
  if (pid < 0) fail("cannot start a process");
  ::close(pipe[1]);
  char byte;
  bool got_output = command.wants_output && ::read(pipe[0], &byte, 1) == 1;
  double first = now_us();
  siginfo_t ended{};
  bool hung = ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED) != 0;
  double end = now_us();
  ::alarm(0);

  if (hung) {
    ::kill(pid, SIGKILL);
    ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED);
  }
  ::close(pipe[0]);
  *first_us = first - begin;
  *end_us = end - begin;
  return !hung && ended.si_code == CLD_EXITED && ended.si_status == 0 &&
         got_output == command.wants_output;
}

// The smallest value that at least `share` of all values do not exceed.
double percentile(const std::vector<double>& sorted, double share) {
  size_t rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

std::string statistics(std::vector<double> values) {
  if (values.empty()) return "null";
  std::sort(values.begin(), values.end());
  double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  char text[256];
  std::snprintf(text, sizeof text,
                R"({"p50":%.1f,"p90":%.1f,"p99":%.1f,"min":%.1f,"mean":%.1f,"samples":%zu})",
                percentile(values, 0.5), percentile(values, 0.9), percentile(values, 0.99),
                values.front(), mean, values.size());
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char character : text) {
    if (character == '"' || character == '\\') result += '\\';
    result += character;
  }
  return result + "\"";
}

void print_results(const std::vector<Command>& commands, int rounds) {
  std::printf("{\"rounds\":%d,\"results\":[", rounds);
  for (const Command& command : commands) {
    std::printf(
        "%s\n{\"contender\":%s,\"workload\":%s,\"failures\":%d,\"first_us\":%s,\"end_us\":%s}",
        &command == &commands.front() ? "" : ",", quoted(command.contender).c_str(),
        quoted(command.workload).c_str(), command.failures, statistics(command.first_us).c_str(),
        statistics(command.end_us).c_str());
  }
  std::printf("\n]}\n");
}

void measure(std::vector<Command>& commands, int rounds, int warm_up) {
  std::mt19937 random(std::random_device{}());
  std::vector<size_t> order(commands.size());
  std::iota(order.begin(), order.end(), size_t{0});
  bool show = ::isatty(STDERR_FILENO);
  for (int round = -warm_up; round < rounds; ++round) {
    if (show) std::fprintf(stderr, "\r  start: round %d of %d ", std::max(round + 1, 0), rounds);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t index : order) {
      Command& command = commands[index];
      double first, end;
      bool worked = run_once(command, &first, &end);
      if (round < 0) continue;
      if (!worked) {
        ++command.failures;
        continue;
      }
      if (command.wants_output) command.first_us.push_back(first);
      command.end_us.push_back(end);
    }
  }
  if (show) std::fprintf(stderr, "\r\033[K");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: start COMMANDS ROUNDS WARM_UP");
  struct sigaction action {};
  action.sa_handler = on_alarm;  // without SA_RESTART
  ::sigaction(SIGALRM, &action, nullptr);
  std::vector<Command> commands = read_commands(argv[1]);
  int rounds = std::atoi(argv[2]);
  measure(commands, rounds, std::atoi(argv[3]));
  print_results(commands, rounds);
}

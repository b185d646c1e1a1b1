// Flags of one sub-command. Only options.cc knows the library behind it.
//
//   bool json = false;
//   std::vector<std::string> files;
//   Options options("policy check", "Reads a policy and says what is wrong with it.");
//   options.flag("--json", &json, "print one JSON object");
//   options.positional("FILE", &files, "policy files");
//   if (std::optional<int> status = options.parse(argc, argv)) return *status;
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paddock::cli {

class Options {
 public:
  Options(const std::string& command, const std::string& what);
  ~Options();

  void flag(const std::string& name, bool* target, const std::string& what);
  void text(const std::string& name, const std::string& placeholder, std::string* target, const std::string& what);
  void list(const std::string& name, const std::string& placeholder, std::vector<std::string>* target, const std::string& what);
  void positional(const std::string& name, std::string* target, const std::string& what, bool required = true);
  void positional(const std::string& name, std::vector<std::string>* target, const std::string& what, bool required = false);
  // Everything from `--`, or from the first word that is no flag, belongs to the command that is to be run.
  void command(std::vector<std::string>* target);

  // argv[0] is the sub-command. An exit status when there is nothing more to do: 0 after --help, 125 after an error
  // (printed, with a suggestion for a misspelt flag).
  std::optional<int> parse(int argc, char** argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace paddock::cli

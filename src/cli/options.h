// Flags of one sub-command. `--name value` and `--name=value`; a flag given twice is an error
// unless it is a list. A flag may have a short form, declared as "-i, --interactive"; short flags
// without values may be joined (-it).
//
//   std::vector<std::string> files;
//   Options options("policy check", "Reads a policy and says what is wrong with it.");
//   options.positional("FILE", &files, "policy files");
//   return options.run(argc, argv, [&](bool json) -> Result<int> {
//     Value checked = TRY(check(files));
//     return show(json, checked, describe(checked));
//   });
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::cli {

class Options {
 public:
  Options(std::string command, std::string what)
      : command_(std::move(command)), what_(std::move(what)) {}

  // A flag without a description is not in the help: it is for other programs of ours.
  void flag(const std::string& name, bool* target, const std::string& what);
  void text(const std::string& name, const std::string& placeholder, std::string* target,
            const std::string& what);
  void list(const std::string& name, const std::string& placeholder,
            std::vector<std::string>* target, const std::string& what);
  void positional(const std::string& name, std::string* target, const std::string& what,
                  bool required = true);
  void positional(const std::string& name, std::vector<std::string>* target,
                  const std::string& what, bool required = false);
  // Everything from `--`, or from the first word that is neither a flag nor a positional, belongs
  // to the command that is to be run.
  void command(std::vector<std::string>* target) { rest_ = target; }

  // argv[0] is the sub-command. An exit status when there is nothing more to do: 0 after --help,
  // 125 after an error (printed, with a suggestion for a misspelt flag).
  std::optional<int> parse(int argc, char** argv);

  // Adds --json, parses, and does `act`, which is told whether --json was given and returns the
  // exit status. An error is printed as text or as JSON.
  using Act = std::function<Result<int>(bool json)>;
  int run(int argc, char** argv, const Act& act,
          const std::string& json_means = "print one JSON object");

 private:
  // What was declared. Exactly one of the targets is set.
  struct Entry {
    std::string name, placeholder, what;
    bool* flag = nullptr;
    std::string* text = nullptr;
    std::vector<std::string>* list = nullptr;
    bool required = false, seen = false;
  };

  Result<void> read(int argc, char** argv);
  Result<void> take_positional(const std::string& word);
  Result<void> take_rest(const std::vector<std::string>& words);
  Result<void> take_flag(const std::string& word, std::vector<std::string>& words);
  Result<Entry*> find_flag(const std::string& name);
  Entry* find(const std::string& name);
  // Takes -it apart into -i -t.
  bool spread(const std::string& word, std::vector<std::string>& words);
  std::string help() const;
  Error wrong(const std::string& message, const std::string& hint = "") const;

  std::string command_, what_;
  std::vector<Entry> flags_, positionals_;
  std::vector<std::string>* rest_ = nullptr;
};

}  // namespace paddock::cli

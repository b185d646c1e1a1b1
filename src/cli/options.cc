// The one file that knows CLI11.
#include "cli/options.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/cli.h"

namespace paddock::cli {

struct Options::Parser {
  CLI::App app;
  std::string command;
  std::vector<std::string> flags;
  std::vector<std::string>* rest = nullptr;

  CLI::Option* keep(CLI::Option* option, const std::string& name) {
    if (starts_with(name, "-")) flags.push_back(name);
    return option;
  }
};

Options::Options(const std::string& command, const std::string& what) : parser_(std::make_unique<Parser>()) {
  parser_->command = command;
  parser_->app.description(what);
  parser_->app.name("paddock " + command);
  parser_->app.set_help_flag("--help,-h", "show this");
}

Options::~Options() = default;

void Options::flag(const std::string& name, bool* target, const std::string& what) {
  parser_->keep(parser_->app.add_flag(name, *target, what), name);
}

void Options::text(const std::string& name, const std::string& placeholder, std::string* target, const std::string& what) {
  parser_->keep(parser_->app.add_option(name, *target, what), name)->type_name(placeholder);
}

void Options::list(const std::string& name, const std::string& placeholder, std::vector<std::string>* target,
                   const std::string& what) {
  // One value per flag: `--read a b` would swallow the command.
  parser_->keep(parser_->app.add_option(name, *target, what), name)
      ->type_name(placeholder)->type_size(1)->expected(1)->take_all()->allow_extra_args(false);
}

void Options::positional(const std::string& name, std::string* target, const std::string& what, bool required) {
  parser_->app.add_option(name, *target, what)->required(required);
}

void Options::positional(const std::string& name, std::vector<std::string>* target, const std::string& what, bool required) {
  parser_->app.add_option(name, *target, what)->required(required);
}

void Options::command(std::vector<std::string>* target) {
  parser_->rest = target;
  parser_->app.prefix_command();
}

std::optional<int> Options::parse(int argc, char** argv) {
  // CLI11 takes "--" itself but keeps parsing flags it knows after a prefix command: cut there ourselves.
  std::vector<std::string> words(argv + 1, argv + argc);
  if (parser_->rest) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] != "--") continue;
      parser_->rest->assign(words.begin() + static_cast<long>(i) + 1, words.end());
      words.resize(i);
      break;
    }
  }
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    parser_->app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    print(parser_->app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    Error wrong{Code::invalid, cat("paddock ", parser_->command, ": ", error.what()), cat("see: paddock ", parser_->command, " --help")};
    return report(wrong, false);
  }
  if (!parser_->rest) return std::nullopt;
  std::vector<std::string> remaining = parser_->app.remaining();
  if (!remaining.empty() && starts_with(remaining[0], "-")) {
    std::string meant = nearest(remaining[0].substr(0, remaining[0].find('=')), parser_->flags);
    Error wrong{Code::invalid, cat("paddock ", parser_->command, ": there is no flag ", printable(remaining[0])),
                meant.empty() ? cat("see: paddock ", parser_->command, " --help") : cat("did you mean ", meant, "?")};
    return report(wrong, false);
  }
  if (!remaining.empty()) {
    if (!parser_->rest->empty()) {
      Error wrong{Code::invalid, cat("paddock ", parser_->command, ": '", printable(remaining[0]), "' stands before --"),
                  "the command belongs behind --"};
      return report(wrong, false);
    }
    *parser_->rest = remaining;
  }
  return std::nullopt;
}

}  // namespace paddock::cli

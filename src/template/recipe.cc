#include "template/recipe.h"

#include "base/text.h"

namespace paddock::templates {

namespace {

// The argument is in bytes. These bound what a request can make the server keep.
constexpr size_t kMostSteps = 200, kMostArgs = 256, kLongestArg = 128 << 10;

Error malformed(const std::string& what) {
  return Error{Code::invalid, cat("read the build: ", what), ""};
}

// E2B and the native API spell the same members differently.
const Value* find_either(const Value& body, const char* name, const char* other) {
  const Value* found = body.find(name);
  if (!found || found->is_null()) found = body.find(other);
  return found && !found->is_null() ? found : nullptr;
}

// An absent member and null are an empty text; NUL is refused, since the text becomes an argument.
Result<std::string> text_of(const Value& body, const char* name, const char* other) {
  const Value* found = find_either(body, name, other);
  if (!found) return std::string();
  if (!found->as_string()) return malformed(cat("'", name, "' is not a string"));
  if (found->as_string()->size() > kLongestArg ||
      found->as_string()->find('\0') != std::string::npos)
    return malformed(cat("'", name, "' is too long"));
  return *found->as_string();
}

Result<bool> truth_of(const Value& body, const char* name) {
  const Value* found = body.find(name);
  if (!found || found->is_null()) return false;
  if (!found->as_bool()) return malformed(cat("'", name, "' is neither true nor false"));
  return *found->as_bool();
}

// The hash becomes part of a file name, so that its form matters.
bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// A name that the environment of a process can hold.
bool is_variable(const std::string& name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return name.find_first_of(std::string_view("=\0 \n", 4)) == std::string::npos;
}

// How many arguments a step has.
Result<void> check(const BuildStep& step, size_t number) {
  size_t count = step.args.size();
  auto wrong = [&](const char* what) {
    return malformed(cat("step ", number, ": ", to_string(step.kind), " ", what));
  };
  switch (step.kind) {
    case StepKind::run:
      if (count < 1 || count > 2 || step.args[0].empty()) return wrong("needs a command");
      return {};
    case StepKind::copy:
      if (count < 2 || count > 4 || step.args[0].empty() || step.args[1].empty())
        return wrong("needs a source and a destination");
      if (!is_hash(step.files))
        return wrong("needs 'filesHash', under which its files were uploaded");
      if (count == 4 && step.args[3].find_first_not_of("01234567") != std::string::npos)
        return wrong("has a mode that is not octal");
      return {};
    case StepKind::workdir:
      if (count != 1 || step.args[0].empty()) return wrong("needs a path");
      return {};
    case StepKind::user:
      if (count < 1 || count > 2 || step.args[0].empty()) return wrong("needs a name");
      if (step.args[0].find_first_of(":/ \n\t") != std::string::npos || step.args[0][0] == '-')
        return wrong("has a name that no user has");
      return {};
    case StepKind::env:
      if (count == 0 || count % 2 != 0) return wrong("needs names and values");
      for (size_t i = 0; i < count; i += 2)
        if (!is_variable(step.args[i])) return wrong("has a name that no variable has");
      return {};
  }
  return {};
}

// The number counts from 1, as people read it in errors and logs.
Result<BuildStep> parse_step(const Value& value, size_t number) {
  BuildStep step;
  std::string type = TRY(text_of(value, "type", "type"));
  bool known = false;
  for (StepKind kind :
       {StepKind::run, StepKind::copy, StepKind::workdir, StepKind::user, StepKind::env})
    if (same_ignoring_case(type, to_string(kind))) step.kind = kind, known = true;
  if (!known)
    return malformed(cat("step ", number, ": '", printable(type),
                         "' is no step (RUN, COPY, WORKDIR, USER, ENV are)"));
  const Value* args = value.find("args");
  if (args && !args->is_null()) {
    if (!args->as_array() || args->as_array()->size() > kMostArgs)
      return malformed(cat("step ", number, ": 'args' is not a list"));
    for (const Value& arg : *args->as_array()) {
      if (!arg.as_string() || arg.as_string()->size() > kLongestArg ||
          arg.as_string()->find('\0') != std::string::npos)
        return malformed(cat("step ", number, ": an argument is not a string"));
      step.args.push_back(*arg.as_string());
    }
  }
  step.files = TRY(text_of(value, "filesHash", "files"));
  step.force = TRY(truth_of(value, "force"));
  TRY(check(step, number));
  return step;
}

}  // namespace

const char* to_string(StepKind kind) {
  switch (kind) {
    case StepKind::run: return "RUN";
    case StepKind::copy: return "COPY";
    case StepKind::workdir: return "WORKDIR";
    case StepKind::user: return "USER";
    case StepKind::env: return "ENV";
  }
  return "";
}

// Unknown members are ignored: newer clients send more.
Result<Recipe> parse_recipe(const Value& body) {
  if (!body.as_object()) return malformed("not an object");
  Recipe recipe;
  recipe.from_template = TRY(text_of(body, "fromTemplate", "from_template"));
  recipe.from_image = TRY(text_of(body, "fromImage", "from_image"));
  recipe.start_command = TRY(text_of(body, "startCmd", "start_command"));
  recipe.ready_command = TRY(text_of(body, "readyCmd", "ready_command"));
  recipe.force = TRY(truth_of(body, "force"));
  if (!recipe.from_template.empty() && !recipe.from_image.empty())
    return malformed("from an image or from a template, not both");
  const Value* steps = body.find("steps");
  if (!steps || steps->is_null()) return recipe;
  if (!steps->as_array()) return malformed("'steps' is not a list");
  if (steps->as_array()->size() > kMostSteps)
    return malformed(cat("more than ", kMostSteps, " steps"));
  for (const Value& step : *steps->as_array())
    recipe.steps.push_back(TRY(parse_step(step, recipe.steps.size() + 1)));
  return recipe;
}

// Values of variables may be secrets, so records get them hidden.
std::string describe(const BuildStep& step, Values values) {
  std::string text = to_string(step.kind);
  if (step.kind == StepKind::env) {
    for (size_t i = 0; i + 1 < step.args.size(); i += 2)
      text += cat(" ", step.args[i], "=", values == Values::shown ? step.args[i + 1] : "…");
    return text;
  }
  if (step.kind == StepKind::run) return cat(text, " ", step.args[0]);
  for (const std::string& arg : step.args)
    if (!arg.empty()) text += cat(" ", arg);
  return text;
}

// Only the two plain forms are expanded. Everything else, as ${NAME:-x}, stays as it is for the
// shell.
Result<std::string> expand_variables(const std::string& text,
                                     const std::map<std::string, std::string>& env) {
  std::string out;
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  auto value_of = [&](const std::string& name) {
    auto found = env.find(name);
    return found == env.end() ? std::string() : found->second;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (out.size() > kLongestArg) break;
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '$') {
      out += text[++i];
      continue;
    }
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    size_t end = i + 1;
    if (text[end] == '{') {
      ++end;
      while (end < text.size() && is_letter(text[end])) ++end;
      bool plain = end > i + 2 && end < text.size() && text[end] == '}';
      if (plain) {
        out += value_of(text.substr(i + 2, end - i - 2));
        i = end;
      } else {
        out += '$';
      }
      continue;
    }
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end == i + 1) {
      out += '$';
      continue;
    }
    out += value_of(text.substr(i + 1, end - i - 1));
    i = end - 1;
  }
  if (out.size() > kLongestArg)
    return Error{Code::exhausted,
                 cat("put values into '", printable(text.substr(0, 40)), "': longer than ",
                     human_size(kLongestArg)),
                 ""};
  return out;
}

// References of registries have characters that names of images do not allow.
std::string image_name_for(const std::string& reference) {
  std::string name = reference;
  for (char& c : name)
    if (c == '/' || c == ':' || c == '@') c = '-';
  return name;
}

bool is_e2b_base(const std::string& image) {
  std::string name = image.substr(0, image.find(':'));
  return name == "e2bdev/base" || name == "e2bdev/code-interpreter";
}

}  // namespace paddock::templates

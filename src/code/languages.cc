#include "code/languages.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "wall/request.h"

namespace paddock::code {

// Clients write names in many ways, so a few spellings are accepted.
Result<std::string> language_of(std::string asked) {
  static const std::map<std::string, std::string> kNames = {{"python", "python"},
                                                            {"python3", "python"},
                                                            {"py", "python"},
                                                            {"javascript", "javascript"},
                                                            {"js", "javascript"},
                                                            {"node", "javascript"},
                                                            {"typescript", "typescript"},
                                                            {"ts", "typescript"},
                                                            {"bash", "bash"},
                                                            {"sh", "bash"},
                                                            {"shell", "bash"},
                                                            {"java", "java"},
                                                            {"r", "r"},
                                                            {"rscript", "r"}};
  std::vector<std::string> words = words_in(asked);
  std::string name = words.size() == 1 ? words[0] : asked;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 128 ? ::tolower(c) : c); });
  auto found = kNames.find(name);
  if (found != kNames.end()) return found->second;
  return Error{
      Code::invalid,
      cat("run code: '", printable(asked.substr(0, 64)), "' is not a language that is known here"),
      "there are python, javascript, typescript, bash, java and r"};
}

// The programs come with Paddock and are mounted into every sandbox.
KernelProgram kernel_program(const std::string& language) {
  std::string folder = wall::kInterpreters;
  if (language == "python") return {{"python3", folder + "/python/main.py"}, "python3"};
  if (language == "bash") return {{"python3", folder + "/bash/main.py"}, "bash and python3"};
  if (language == "java") return {{"/bin/sh", folder + "/java/launch.sh"}, "a JDK with jshell"};
  if (language == "r") return {{"python3", folder + "/r/main.py"}, "R (r-base-core) and python3"};
  return {{"/bin/sh", folder + "/node/launch.sh"}, "node"};
}

}  // namespace paddock::code

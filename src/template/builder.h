// Builds of templates. Each step runs in a sandbox of the tenant, made from the layers so far; what
// it wrote becomes the next layer, and is found again when the same step is asked for on the same
// layers. docs/templates.md says what users see.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manager/manager.h"
#include "redact/redact.h"
#include "template/files.h"
#include "template/recipe.h"

namespace paddock::templates {

enum class BuildState : uint8_t { waiting, building, ready, error };
const char* to_string(BuildState state);

struct BuildLog {
  manager::WallTime time = 0;
  std::string level;  // "debug", "info", "warn", "error"
  std::string message;
  std::string step;  // "base", "1", …, "finalize"
};

struct BuildRequest {
  std::string name;            // "name" or "name:tag"
  std::set<std::string> tags;  // besides
  uint64_t cpu_millicores = 0, memory_bytes = 0;
  Policy policy;  // of the sandboxes that its steps run in
};

struct Build {
  std::string id;      // of the template that comes of it
  std::string family;  // its E2B templateID
  std::string tenant, name;
  std::map<std::string, int64_t> tags;
  BuildRequest request;
  Recipe recipe;
  BuildState state = BuildState::waiting;
  bool begun = false;  // else it waits for its recipe
  manager::WallTime created = 0;
  std::vector<BuildLog> logs;  // the first megabyte
  size_t log_bytes = 0;
  Error reason;  // state error
  std::string failed_step;
  bool cancelled = false;
  std::string sandbox;     // in which the present step runs
  manager::Caller caller;  // who began it
  // Of the sandbox of the present step.
  std::shared_ptr<const redact::Rules> redaction = redact::Rules::common();

  // Redacted here.
  void log(const std::string& level, const std::string& step, const std::string& message);
};

struct StepContext;  // template/steps.h

class Builder {
 public:
  explicit Builder(manager::Manager& manager) : manager_(manager) {}
  Result<void> open();  // before anything else; what a restart left of builds goes

  // A build to come. E2B's clients ask for it, upload files, and then begin it.
  Result<std::shared_ptr<Build>> request(const manager::Caller& caller, BuildRequest request);
  // Code::conflict when it was begun already.
  Result<void> begin(const manager::Caller& caller, const std::string& id, Recipe recipe);
  Result<std::shared_ptr<Build>> find(const manager::Caller& caller, const std::string& id) const;
  void cancel(const std::shared_ptr<Build>& build);

  BuildFiles& files() { return *files_; }

 private:
  void read_interrupted();
  void note_on_disk(const Build& build, bool under_way);
  void forget_old(const std::string& tenant);
  io::Task<void> kill_left_over();

  void start_next();
  io::Task<void> run(std::shared_ptr<Build> build);
  io::Task<Result<void>> run_recipe(std::shared_ptr<Build> build);
  io::Task<Result<store::Template>> run_steps(StepContext context, store::Template last,
                                              Recipe recipe);
  io::Task<Result<store::Template>> base_of(std::shared_ptr<Build> build);
  io::Task<Result<store::Template>> from_image(std::string image);

  manager::Manager& manager_;
  std::string directory_;  // notes of builds under way
  std::optional<BuildFiles> files_;
  std::map<std::string, std::shared_ptr<Build>> builds_;
  std::deque<std::string> order_;  // of builds_, the oldest first
  std::deque<std::shared_ptr<Build>> queue_;
  // By tenant: the families that are being built.
  std::map<std::string, std::set<std::string>> busy_;
  size_t under_way_ = 0;  // builds, of all tenants
};

}  // namespace paddock::templates

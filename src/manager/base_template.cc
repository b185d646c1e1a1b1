#include "manager/base_template.h"

#include <unistd.h>

#include <utility>

#include "base/text.h"
#include "io/worker.h"
#include "store/skeleton.h"

namespace paddock::manager {

namespace {

// Both names lead to the same files.
constexpr const char* kNames[] = {"base", kCodeTemplate};

// The key of both templates if they were made from the same files. Otherwise empty.
std::string key_of_both(const store::Templates& templates) {
  std::string key;
  for (const char* name : kNames) {
    Result<store::Template> found = templates.find("", name);
    if (!found || (!key.empty() && found.value().cache_key != key)) return "";
    key = found.value().cache_key;
  }
  return key;
}

}  // namespace

// Two keys decide whether the templates are up to date: a fast one of the host's packages, and a
// slow one of what is closed to others in /usr. If only the fast one is known to be the same, the
// old templates may be used while the slow one is computed.
io::Task<Result<void>> ensure_base(io::Loop& loop, store::Templates& templates,
                                   std::function<void()> usable) {
  CO_TRY(std::unique_ptr<io::Worker> worker, io::Worker::create(loop, 1));

  Result<std::string> host = Error{};
  std::function<void()> look = [&] { host = store::skeleton_fingerprint(); };
  co_await worker->run(look);
  if (!host) co_return host.error();
  std::string known = key_of_both(templates);
  bool same_host = starts_with(known, host.value() + " ");
  if (same_host) usable();

  std::vector<std::string> closed;
  std::function<void()> walk = [&] { closed = store::closed_in_usr(); };
  co_await worker->run(walk);
  std::string key = cat(host.value(), " ", store::closed_fingerprint(closed));
  if (key == known) co_return Result<void>();

  CO_TRY(store::Staged staged, templates.stage());
  std::string root = staged.root(), usr = staged.usr();
  Result<void> made;
  std::function<void()> make = [&] {
    made = store::make_skeleton(root);
    if (made) made = store::make_skeleton_usr(usr, closed);
  };
  co_await worker->run(make);
  if (!made) co_return made.error();

  // One layer, two names: what a code interpreter needs besides comes with every sandbox.
  std::optional<store::Staged> layer(std::move(staged));
  std::vector<std::string> layers;
  for (const char* name : kNames) {
    store::Template asked;
    asked.name = name;
    asked.root.host_usr = true;
    asked.layers = layers;
    asked.cache_key = key;
    CO_TRY(store::Template added,
           templates.add(std::move(asked), std::exchange(layer, std::nullopt)));
    layers = added.layers;
  }
  co_return Result<void>();
}

// What a code interpreter misses on this host, with the packages that bring it. Empty: nothing.
std::string missing_for_code() {
  struct Part {
    const char *name, *path, *package;
  };
  constexpr Part kParts[] = {
      {"IPython", "/usr/lib/python3/dist-packages/IPython", "python3-ipython"},
      {"matplotlib", "/usr/lib/python3/dist-packages/matplotlib", "python3-matplotlib"},
      {"pandas", "/usr/lib/python3/dist-packages/pandas", "python3-pandas"},
      {"Pillow", "/usr/lib/python3/dist-packages/PIL", "python3-pil"},
      {"node", "/usr/bin/node", "nodejs"},
      {"R", "/usr/bin/R", "r-base-core"}};
  std::vector<std::string> names, packages;
  for (const Part& part : kParts) {
    if (::access(part.path, F_OK) == 0) continue;
    names.push_back(part.name);
    packages.push_back(part.package);
  }
  if (names.empty()) return "";
  return cat("code: this host has no ", join(names, ", "), "; install on it: apt-get install ",
             join(packages, " "), ", or inside (%pip install …)");
}

}  // namespace paddock::manager

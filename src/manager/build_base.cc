#include "manager/build_base.h"

#include "base/text.h"
#include "io/worker.h"
#include "store/skeleton.h"

namespace paddock::manager {

namespace {

constexpr const char* kNames[] = {"base", "code-interpreter-v1"};

bool is_current(const store::Templates& templates, const char* name, const std::string& key) {
  Result<store::Template> found = templates.find("", name);
  return found && found.value().cache_key == key;
}

}  // namespace

io::Task<Result<void>> ensure_base(io::Loop& loop, store::Templates& templates) {
  Result<std::unique_ptr<io::Worker>> worker = io::Worker::create(loop, 1);
  if (!worker) co_return worker.error();

  Result<std::string> key = Error{};
  std::function<void()> look = [&] { key = store::skeleton_fingerprint(); };
  co_await worker.value()->run(look);
  if (!key) co_return key.error();
  bool current = true;
  for (const char* name : kNames) current = current && is_current(templates, name, key.value());
  if (current) co_return Result<void>();

  Result<store::Staged> staged = templates.stage();
  if (!staged) co_return staged.error();
  std::string root = staged.value().root(), usr = staged.value().usr();
  Result<void> made;
  std::function<void()> make = [&] { made = store::make_skeleton(root, usr); };
  co_await worker.value()->run(make);
  if (!made) co_return made.error();

  // One layer, two names: what a code interpreter needs besides comes with every sandbox.
  std::optional<store::Staged> layer(std::move(staged).value());
  std::vector<std::string> layers;
  for (const char* name : kNames) {
    store::Template asked;
    asked.name = name;
    asked.root.host_usr = true;
    asked.layers = layers;
    asked.cache_key = key.value();
    Result<store::Template> added = templates.add(std::move(asked), std::move(layer));
    if (!added) co_return added.error();
    layer.reset();
    layers = added.value().layers;
  }
  co_return Result<void>();
}

}  // namespace paddock::manager

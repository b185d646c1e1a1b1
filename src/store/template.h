// Templates: what living sandboxes are made from. A template is a record and a stack of layers,
// directories that never change once they are there; a snapshot of a sandbox is a template too.
// Made again under the same name it is a new template of the same family, and its tags move. On
// disk: docs/formats/template.md.
//
//   Templates templates = TRY(Templates::open(directory));
//   Template base = TRY(templates.find(tenant, "base"));
//   Staged layer = TRY(templates.stage());            // fill layer.root, layer.usr; long work,
//   elsewhere Template made = TRY(templates.add(asked, std::move(layer)));  // asked.layers: what
//   the new one lies on
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/value.h"
#include "paddock/error.h"
#include "store/rootfs.h"

namespace paddock::store {

enum class TemplateKind : uint8_t {
  // Out of the box, by a build, or from an image.
  made,
  // Of a sandbox.
  snapshot,
  // Of a build, kept so that the next build need not do it again. Not listed.
  step,
};

struct Template {
  // [a-z0-9], given by add().
  std::string id;
  // [a-z0-9], shared by all that were made under the same name: E2B's templateID; given by add().
  std::string family;
  // The owner. "" is everyone's.
  std::string tenant;
  TemplateKind kind = TemplateKind::made;
  // The name of the family, or "".
  std::string name;
  // The tags of the family that mean this template, and since when (add() fills that in); plain
  // `name` means `name:default`.
  std::map<std::string, int64_t> tags;
  // Milliseconds since 1970.
  int64_t created = 0;
  // Ids, the lowest first.
  std::vector<std::string> layers;
  // The same as directories; made from `layers` and `host_usr` of it.
  Rootfs root;
  // Of its own layer, on disk.
  uint64_t bytes = 0;

  // What processes start with. An empty cwd means the home.
  std::string user = "user", cwd;
  std::map<std::string, std::string> env;
  // Run at creation, as `user`. "" for none.
  std::string start_command, ready_command;
  // As asked for. 0: the policy's.
  uint64_t cpu_millicores = 0, memory_bytes = 0;
  // The id of what it was made from, which may be gone.
  std::string parent;
  // For a snapshot: the sandbox that it was made from.
  std::string sandbox;
  // Step and what comes out of the box: what it was made from, hashed.
  std::string cache_key;
};

// A layer on its way: directories to be filled, and gone with the object unless add() takes it.
class Staged {
 public:
  Staged() = default;
  Staged(Staged&& other) noexcept;
  Staged& operator=(Staged&& other) noexcept;
  ~Staged();

  // Private (0700); root/ and usr/ beneath it may be made, or moved in.
  std::string path;
  std::string root() const { return path + "/root"; }
  std::string usr() const { return path + "/usr"; }

 private:
  friend class Templates;
  Fd lock_;
  void discard();
};

// All templates of a server, in memory and on disk. For one process and one thread; filling a
// Staged may happen elsewhere.
class Templates {
 public:
  // `directory` (…/server) must exist; layers/ and templates/ are made in it. Removes what was half
  // made.
  static Result<Templates> open(const std::string& directory);

  // By id, family, family:tag, name, name:tag, tenant/name[:tag]. The tenant's own before
  // everyone's; another's does not exist.
  Result<Template> find(const std::string& tenant, const std::string& reference) const;
  // The newest first, no steps; every tenant's for "*".
  std::vector<Template> list(const std::string& tenant) const;
  // Who have any, everyone's "" left out.
  std::set<std::string> tenants() const;
  // The size of all its layers, those of steps included.
  uint64_t bytes_of(const std::string& tenant) const;
  const Template* find_cached(const std::string& tenant, const std::string& cache_key) const;

  Result<Staged> stage() const;
  // Adds one: of the layers in `asked.layers` (and `asked.root.host_usr`), with the new one on top
  // when there is one. It gets `asked.name` and `asked.tags` ("default" when there are none), and
  // templates that had them lose them. Its id is `id` if one was promised, else a new one; that in
  // `asked` is ignored.
  Result<Template> add(Template asked, std::optional<Staged> layer, const std::string& id = "");

  // The record goes at once (by the family's name without a tag: all of the family); layers that
  // nobody uses any more go with the next sweep().
  Result<void> remove(const std::string& tenant, const std::string& reference);
  // Ids of what remove() would.
  Result<std::vector<std::string>> removable(const std::string& tenant,
                                             const std::string& reference) const;
  // Whether tag() and untag() would be refused.
  Result<void> check_tags(const std::string& tenant, const std::string& reference,
                          const std::set<std::string>& tags) const;
  Result<void> check_has_tags(const std::string& tenant, const std::string& name,
                              const std::set<std::string>& tags) const;
  Result<Template> tag(const std::string& tenant, const std::string& reference,
                       const std::set<std::string>& tags);
  Result<void> untag(const std::string& tenant, const std::string& name,
                     const std::set<std::string>& tags);

  // To make room: forgets the tenant's oldest cached step of a build whose own layer nobody else
  // needs, neither a template nor `used` (as for sweep()) nor `layers` (ids). Returns false if
  // there is none.
  bool drop_oldest_step(const std::string& tenant, const std::set<std::string>& used,
                        const std::vector<std::string>& layers);

  // Takes layers that no template and nobody in `used` (directories: Rootfs::layers and usr_layers
  // of sandboxes) needs out of sight and gives their paths, to be removed elsewhere: that takes
  // long. Templates that lost all their tags to newer ones go too, and so do steps of builds after
  // a week, unless their layer is part of a template: their records say how large it is.
  Result<std::vector<std::string>> sweep(const std::set<std::string>& used);

  const std::string& directory() const { return directory_; }

 private:
  Result<void> read_records();
  Result<void> write(const Template& record) const;
  void forget(const std::string& id);
  void make_root(Template& record) const;
  std::set<std::string> layers_among(const std::set<std::string>& paths) const;
  Result<void> give_tags(Template& record, const std::map<std::string, int64_t>& tags);
  const Template* tagged(const std::string& tenant, const std::string& head,
                         const std::string& tag) const;

  std::string directory_;
  Fd layers_, templates_;
  // By id.
  std::map<std::string, Template> records_;
};

// As it is on disk.
Value to_value(const Template& record);
Result<Template> template_from(const Value& value);

// The family of all templates of that name.
std::string template_family(const std::string& tenant, const std::string& name);

// Matches [a-zA-Z0-9][a-zA-Z0-9._-]*, at most 128.
bool is_template_tag(const std::string& text);

// Names of templates: [a-z0-9][a-z0-9._-]*, at most 128; capitals become small in names and stay in
// tags.
struct TemplateName {
  // The tag is "" when none was given.
  std::string name, tag;
};
// "name", "name:tag", "tenant/name:tag".
Result<TemplateName> parse_template_name(const std::string& tenant, const std::string& text);

}  // namespace paddock::store

// What happens to one living sandbox: the connections to its keeper and guest, and what follows
// when they end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "living/instance.h"
#include "living/keeper_link.h"
#include "monitor/sampler.h"
#include "run/egress.h"

namespace paddock::living {

// What a restarted server must know about a sandbox, kept in `instance.json` of its directory.
struct InstanceFacts {
  Value enforced;
  std::vector<std::string> notes, cgroups;  // cgroups: directories
  std::string freezes_by;
  bool freezer = false, network = false;
  std::map<LimitKind, uint64_t> limits;

  Result<void> save(const std::string& directory) const;
  static Result<InstanceFacts> load(const std::string& directory);
  static void remove(const std::string& directory);
};

// Shared by the coroutines that follow the sandbox, so that it outlives the Instance where needed.
struct Instance::Life : std::enable_shared_from_this<Instance::Life> {
  Life(io::Loop& loop, std::string id, std::string directory)
      : loop(loop), id(std::move(id)), directory(std::move(directory)), ended(loop) {}

  io::Loop& loop;
  std::string id, directory;
  InstanceFacts facts;
  std::shared_ptr<KeeperLink> keeper;
  pid_t keeper_pid = -1;
  std::unique_ptr<runs::Egress> egress;
  std::shared_ptr<guest::Client> guest;
  std::unique_ptr<monitor::Sampler> sampler;
  runs::LiveNetwork network;   // as egress reported it last
  bool network_known = false;  // from its beginning, or since the first report of egress
  bool greeted = false;        // the guest has said hello
  bool checking = false;       // whether the guest still answers
  io::Milliseconds next_check = 0;
  uint64_t pauses = 0;        // how often it was frozen or thawed
  bool killed = false;        // kill() was called
  std::string guest_trouble;  // why its stream broke
  bool gave_up = false;       // for which the sandbox had to go
  Instance* owner = nullptr;  // whose on_end and on_network are called
  io::Event ended;            // nothing of it is left

  void begin();                     // follows the keeper until its end
  io::Task<Result<void>> attach();  // a new stream to the guest
  io::Task<Result<void>> greet();   // the guest's hello
  // Called now and then: a guest that does not answer is given up, and the sandbox ended.
  void check_guest();
  io::Task<void> end();  // kills it, and returns when nothing is left

 private:
  static io::Task<void> follow(std::shared_ptr<Life> life);
  static io::Task<void> read_network(std::shared_ptr<Life> life, Fd events);
  static io::Task<void> await_sign_of_life(std::shared_ptr<Life> life);
  static io::Task<void> give_up_guest(std::shared_ptr<Life> life);
  io::Task<void> reap_keeper();
  InstanceEnd why() const;
};

// A limit that was hit, for people: "limit memory=256M".
std::string why_of(const LimitHit& hit);

// Ends what is left in the groups and removes them. Gives up after a while.
io::Task<void> remove_cgroups(io::Loop& loop, std::vector<std::string> directories);

}  // namespace paddock::living

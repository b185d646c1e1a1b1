#include "living/instance.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "guest/protocol.h"
#include "launch/launcher.h"
#include "linux/cgroup.h"
#include "living/life.h"
#include "living/plan.h"
#include "wall/report.h"

namespace paddock::living {

using launch::Record;

namespace {

constexpr io::Milliseconds kStartMs = 60'000, kFreezeMs = 15'000, kUsageMs = 10'000;

using Started = Result<std::unique_ptr<Instance>>;

// As it is shown by `paddock run --json`.
Value describe(const std::map<std::string, Enforced>& enforced) {
  Value all(Value::Object{});
  for (const auto& [name, control] : enforced) {
    Value entry;
    entry.set("by", control.by);
    entry.set("strength", to_string(control.strength));
    all.set(name, std::move(entry));
  }
  return all;
}

// What a later server must know, taken from the plan while it is at hand.
InstanceFacts facts_of(const InstancePlan& plan) {
  InstanceFacts facts;
  facts.notes = plan.compiled.notes;
  facts.network = plan.compiled.plan.network.enabled;
  facts.freezes_by = "signals";
  for (const kernel::CgroupPlan& group : plan.compiled.plan.cgroups) {
    facts.cgroups.push_back(group.directory);
    if (!(group.uses & kernel::kFreezer)) continue;
    facts.freezer = true;
    facts.freezes_by = group.version() == 2 ? "cgroup v2 cgroup.freeze" : "cgroup v1 freezer.state";
  }
  for (const auto& [kind, limit] : plan.compiled.limits.limits) facts.limits[kind] = limit.value;
  return facts;
}

// Hands the finished plan, and everything that is to live as long as the sandbox, to a keeper of
// its own.
Result<void> start_keeper(Instance::Life& life, InstancePlan& plan, launch::KeeperProcess keeper) {
  Fd null = TRY(open_file("/dev/null", O_RDWR));
  Fd to_egress = life.egress ? life.egress->take_sandbox_socket() : Fd();
  std::vector<int> descriptors{null.get(), null.get(), null.get()};
  if (life.egress) {
    descriptors.push_back(to_egress.get());
    std::vector<int> held = TRY(life.egress->handover());
    descriptors.insert(descriptors.end(), held.begin(), held.end());
  }
  if (plan.ids) descriptors.push_back(plan.ids->lock.get());
  TRY(launch::send_plan(keeper.control.get(), launch::encode(plan.compiled.plan), descriptors));
  // The sockets come with the keeper's answer, as for every server.
  if (life.egress) (void)life.egress->take_events();
  life.keeper_pid = keeper.release();
  life.keeper = KeeperLink::create(life.loop, std::move(keeper.control));
  life.begin();
  return {};
}

// If the service manager was asked for a scope, its answer is awaited without holding up other
// requests.
io::Task<void> find_cgroups(io::Loop& loop, launch::KeeperProcess& keeper,
                            kernel::CgroupFacts& cgroups) {
  if (!keeper.scope) {
    cgroups = living_cgroups();
    co_return;
  }
  if (*keeper.scope) {
    kernel::ScopeRequest& request = keeper.scope->value();
    io::Socket answers(loop, Fd(::fcntl(request.fd(), F_DUPFD_CLOEXEC, 3)));
    io::Milliseconds deadline = loop.now() + request.milliseconds_left();
    bool in_time = true;
    while (in_time) {
      answers.not_readable();
      Result<bool> settled = request.advance();
      if (!settled || settled.value()) break;
      in_time = co_await answers.readable(deadline);
    }
  }
  cgroups = keeper.find_cgroups();
}

// From a keeper that has its plan to a guest that has said hello. The program waits until what the
// kernel enforces was read back.
io::Task<Result<void>> bring_to_life(std::shared_ptr<Instance::Life> life, InstancePlan& plan,
                                     const InstanceSpec& spec) {
  CO_TRY(launch::Received ready, co_await life->keeper->hear(kStartMs));
  const Record& record = ready.record;
  CO_TRY(auto enforced,
         wall::read_back(plan.request, plan.facts, plan.compiled, record.number, record.numbers));
  life->facts.enforced = describe(enforced);
  // Saved before it lives, so that a server which finds it knows it.
  CO_TRY_VOID(life->facts.save(life->directory));
  life->keeper->tell(spec.lifetime.to_record());  // before it lives: it may never hear of us again
  for (const launch::RuleOrder& rule : spec.rules) life->keeper->tell(rule.to_record());
  life->keeper->tell({.kind = Record::Kind::go});
  Result<void> attached = co_await life->attach();
  co_return attached;
}

// Before the plan is compiled, because programs inside must trust egress's authority.
io::Task<Result<void>> open_egress(std::shared_ptr<Instance::Life> life, InstancePlan& plan) {
  if (!wall::has_network(plan.request)) co_return Result<void>();
  CO_TRY(egress::Settings settings, runs::egress_settings(plan.request.policy, plan.request.id));
  if (!settings.live_ms) settings.live_ms = runs::kLiveMs;
  Result<std::unique_ptr<runs::Egress>> started =
      runs::Egress::start(std::move(settings), plan.facts.privileged);
  if (!started) co_return started.error();
  life->egress = std::move(started.value());
  CO_TRY(runs::Egress::Ready ready, co_await life->egress->await_ready(life->loop));
  plan.request.egress_pid = life->egress->pid();
  plan.request.ca_certificate = std::move(ready.certificate);
  plan.request.ca_bundle = std::move(ready.bundle);
  plan.request.java_trust_store = std::move(ready.java_trust_store);
  co_return Result<void>();
}

}  // namespace

Instance::Instance(std::shared_ptr<Life> life) : life_(std::move(life)) { life_->owner = this; }

// Lets go without ending anything: the keeper goes on, and a later server finds it.
Instance::~Instance() {
  life_->owner = nullptr;
  if (life_->killed) return;  // kill() goes on without us
  if (life_->egress) life_->egress->let_go();
  if (life_->guest) {
    life_->guest->on_gone = nullptr;
    life_->guest->close();
  }
  life_->keeper->let_go();
}

// Up to start_keeper() a failure drops the keeper, which then has nothing to clean up. After it the
// sandbox is ended like any other.
io::Task<Started> Instance::start(io::Loop& loop, InstanceSpec spec) {
  Result<InstancePlan> planned = plan_instance(spec);
  if (!planned) co_return planned.error();
  InstancePlan& plan = planned.value();
  auto life = std::make_shared<Life>(loop, spec.id, spec.directory);
  CO_TRY_VOID(co_await open_egress(life, plan));
  std::vector<pid_t> companions;  // a server's restart must not end the network of its sandboxes
  if (life->egress) companions.push_back(life->egress->pid());
  CO_TRY(launch::KeeperProcess keeper, launch::spawn_keeper(false, std::move(companions)));
  co_await find_cgroups(loop, keeper, plan.facts.cgroups);
  if (Result<void> finished = finish_plan(plan); !finished) co_return finished.error();
  life->facts = facts_of(plan);
  life->network_known = true;
  if (Result<void> begun = start_keeper(*life, plan, std::move(keeper)); !begun)
    co_return begun.error();
  std::unique_ptr<Instance> instance(new Instance(life));
  Result<void> alive = co_await bring_to_life(life, plan, spec);
  if (!alive) {
    co_await life->end();
    co_return alive.error();
  }
  co_return instance;
}

io::Task<Started> Instance::reattach(io::Loop& loop, std::string id, std::string directory) {
  Result<InstanceFacts> facts = InstanceFacts::load(directory);
  Result<Fd> socket = KeeperLink::connect(directory);
  if (!socket || !facts) {
    if (!socket && socket.error().code != Code::not_found) co_return socket.error();
    std::vector<std::string> groups = facts ? facts.value().cgroups : std::vector<std::string>();
    if (!facts)
      for (const std::string& place : wall::cgroup_places(living_cgroups()))
        groups.push_back(cat(place, "/paddock-", id));
    co_await remove_cgroups(loop, groups);
    InstanceFacts::remove(directory);
    co_return Error{Code::not_found, cat("the processes of ", id, " are gone"), ""};
  }
  auto life = std::make_shared<Life>(loop, id, directory);
  life->facts = std::move(facts.value());
  life->keeper_pid = KeeperLink::keeper_behind(socket.value());
  life->keeper = KeeperLink::create(loop, std::move(socket.value()));
  std::unique_ptr<Instance> instance(new Instance(life));
  life->begin();
  Result<void> attached = co_await life->attach();
  if (!attached) {
    co_await life->end();
    co_return Error{Code::not_found,
                    cat("the processes of ", id, " were ended: ", attached.error().message), ""};
  }
  co_return instance;
}

std::shared_ptr<guest::Client> Instance::guest() const { return life_->guest; }

std::string Instance::freezes_by() const { return life_->facts.freezes_by; }

// Without a freezer the guest stops the processes, and the keeper only remembers it.
io::Task<Result<void>> Instance::freeze() {
  std::shared_ptr<Life> life = life_;
  ++life->pauses;
  if (!life->facts.freezer) {
    Value order = guest::to_value(guest::StopAllRequest{});
    io::Milliseconds deadline = life->loop.now() + kFreezeMs;
    Result<Value> stopped = co_await life->guest->ask(order, deadline);
    if (!stopped) co_return stopped.error();
  }
  Record question{.kind = Record::Kind::freeze};
  Result<launch::Received> answer = co_await life->keeper->ask(question, kFreezeMs);
  if (!answer) co_return answer.error();
  co_return Result<void>();
}

// The keeper first: a frozen guest cannot answer.
io::Task<Result<void>> Instance::thaw() {
  std::shared_ptr<Life> life = life_;
  ++life->pauses;
  Record question{.kind = Record::Kind::thaw};
  Result<launch::Received> answer = co_await life->keeper->ask(question, kFreezeMs);
  if (!answer) co_return answer.error();
  if (!life->greeted) {
    CO_TRY_VOID(co_await life->greet());
  }
  if (life->facts.freezer) co_return Result<void>();
  Value order = guest::to_value(guest::ContinueAllRequest{});
  io::Milliseconds deadline = life->loop.now() + kFreezeMs;
  Result<Value> going = co_await life->guest->ask(order, deadline);
  if (!going) co_return going.error();
  co_return Result<void>();
}

io::Task<Result<launch::LivingUsage>> Instance::usage() {
  std::shared_ptr<Life> life = life_;
  Record question{.kind = Record::Kind::usage};
  CO_TRY(launch::Received answer, co_await life->keeper->ask(question, kUsageMs));
  launch::LivingUsage usage = launch::LivingUsage::from_record(answer.record);
  if (!usage.frozen) life->check_guest();
  co_return usage;
}

bool Instance::read(monitor::Reading& reading, bool deep) {
  // One process in the groups, the guest, is ours.
  if (!life_->sampler) life_->sampler = std::make_unique<monitor::Sampler>(life_->facts.cgroups, 1);
  reading.net_up = life_->network.up;
  reading.net_down = life_->network.down;
  reading.connections = life_->network.connections;
  reading.net_time_ms = life_->network.time_ms;
  reading.net_known = life_->network_known;
  return life_->sampler->read(reading, deep);
}

void Instance::set_lifetime(const launch::LifetimeOrder& order) {
  life_->keeper->tell(order.to_record());
}

Result<void> Instance::set_network(const Policy& policy) {
  if (!life_->egress)
    return Error{Code::unsupported, "this sandbox was started without a network",
                 "create it with a network to change it later"};
  return life_->egress->reload(policy);
}

bool Instance::has_network() const { return life_->facts.network; }
Value Instance::enforced() const { return life_->facts.enforced; }
std::vector<std::string> Instance::notes() const { return life_->facts.notes; }

io::Task<void> Instance::kill() {
  std::shared_ptr<Life> life = life_;
  co_await life->end();
}

}  // namespace paddock::living

// What all walls share: the checks that come first, the environment, and the last touches of a
// plan.
#include <map>
#include <set>

#include "base/text.h"
#include "net/synthetic.h"
#include "presets/presets.h"
#include "wall/wall.h"

namespace paddock::wall {

Result<void> check_common(const HostFacts& facts) {
  if (facts.uid == 0 && !facts.privileged)
    return Error{Code::unsupported,
                 cat("the program must not be root on the host, but ", facts.not_privileged_why),
                 "run paddock as an ordinary user, or give root back these capabilities"};
  if (!facts.seccomp)
    return Error{Code::unsupported, "this kernel has no seccomp filters",
                 "use a kernel with CONFIG_SECCOMP_FILTER"};
  return {};
}

std::vector<std::string> cgroup_places(const kernel::CgroupFacts& groups) {
  std::set<std::string> places;
  for (const kernel::Controller* controller :
       {&groups.memory, &groups.pids, &groups.cpu, &groups.cpuacct, &groups.io, &groups.unified,
        &groups.freezer})
    if (controller->version) places.insert(controller->directory);
  return {places.begin(), places.end()};
}

namespace {

// Sets the variables for programs that would rather use a proxy, and for those that ask the
// environment which authorities to trust.
void add_network_variables(const Request& request, std::map<std::string, std::string>& env) {
  // ALL_PROXY names the HTTP side, too: some libraries (httpx, in many agents' SDKs) refuse to
  // start when it says SOCKS.
  std::string proxy = cat("http://127.0.0.1:", net::kEgressPort);
  for (const char* name :
       {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"})
    env[name] = proxy;
  for (const char* name : {"NO_PROXY", "no_proxy"}) env[name] = "localhost,127.0.0.1,::1";
  if (request.ca_bundle.empty()) return;
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT",
                           "GIT_SSL_CAINFO", "AWS_CA_BUNDLE"})
    env[name] = kCaBundle;
  // These two add a certificate to those that the program has; the ones above replace them.
  for (const char* name : {"NODE_EXTRA_CA_CERTS", "DENO_CERT"}) env[name] = kCaCertificate;
}

}  // namespace

// Later entries win: the policy's variables over ours, the command's over the policy's, and secrets
// last. A map, so that plans have a stable order.
std::vector<std::string> build_environment(const Request& request, const std::string& home,
                                           const std::string& temporary) {
  std::map<std::string, std::string> env = {{"PATH", kSearchPath}, {"HOME", home},
                                            {"USER", kInsideUser}, {"LOGNAME", kInsideUser},
                                            {"TMPDIR", temporary}, {"PADDOCK", request.id}};
  if (request.terminal[0] || request.terminal[1]) env["TERM"] = "xterm-256color";
  if (has_network(request)) add_network_variables(request, env);
  for (const auto& [name, value] : request.policy.env.set) env[name] = value;
  for (const auto& [name, value] : request.command.env) env[name] = value;
  for (const auto& [name, value] : request.command.secrets) env[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : env) list.push_back(cat(name, "=", value));
  return list;
}

void finish_plan(const Request& request, Compiled& compiled) {
  for (int i = 0; i < 3; ++i) compiled.plan.stdio[i] = request.terminal[i] ? launch::kTerminal : i;
  compiled.plan.rows = request.rows;
  compiled.plan.columns = request.columns;
  for (const std::string& danger : compiled.limits.weakened) compiled.weakened.push_back(danger);
  for (const std::string& danger : request.weakened) compiled.weakened.push_back(danger);
  for (const std::string& note : compiled.limits.notes) compiled.notes.push_back(note);
}

Result<std::string> seccomp_filter(const std::string& name) {
  if (std::string_view filter = embedded_filter(name); !filter.empty()) return std::string(filter);
  return Error{Code::internal, cat("there is no seccomp filter '", name, "'"), "rebuild Paddock"};
}

}  // namespace paddock::wall

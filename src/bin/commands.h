// The commands of `paddock`, in the order that its help lists them.
#pragma once

#include "cli/cli.h"

namespace paddock {

// Those without a function are in paddock-server.
inline constexpr cli::Verb kCommands[] = {
    {"run", cli::run_main, "run a command in a sandbox"},
    {"doctor", cli::doctor_main, "what this host can enforce, and how to fix what it cannot"},
    {"verify", cli::verify_main, "prove with live probes that a policy holds here"},
    {"policy", cli::policy_main, "check, show or explain a policy"},
    {"diff", cli::diff_main, "what a run changed in its copy of the workspace"},
    {"apply", cli::apply_main, "take such changes over"},
    {"image", nullptr, "import, list and remove root filesystems"},
    {"serve", nullptr, "serve living sandboxes over HTTP, for the E2B SDK too"},
    {"key", nullptr, "make, list and revoke API keys of the server"},
    {"create", nullptr, "make a sandbox that lives on"},
    {"ls", nullptr, "list sandboxes"},
    {"exec", nullptr, "run a command in one"},
    {"cp", nullptr, "copy files into one or out of it"},
    {"logs", nullptr, "what happened in one"},
    {"pause", nullptr, "stop one, keeping its processes or its files"},
    {"resume", nullptr, "let it go on"},
    {"snapshot", nullptr, "keep its files as a template"},
    {"fork", nullptr, "make copies of one"},
    {"kill", nullptr, "end one"},
    {"top", nullptr, "what sandboxes use, as it changes"},
    {"template", nullptr, "build, list and remove templates"},
    {"volume", nullptr, "make, list and remove volumes"},
    {"audit", nullptr, "what was recorded, and proof that it is still what was recorded"},
    {"mcp", nullptr, "serve tools to MCP clients: sandboxes, and other servers behind a fence"},
    {"tool", nullptr, "call the tools of a policy, or see what it would decide"},
    {"approve", nullptr, "calls of tools that wait for your word, and the word"},
    {"version", cli::version_main, "print the version"},
};

}  // namespace paddock

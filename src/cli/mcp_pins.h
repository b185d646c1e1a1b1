// paddock mcp servers, pins, accept, forget: what the servers behind the gateway offer, and what of
// a change is accepted.
#pragma once

namespace paddock::cli {

bool is_mcp_pins_word(const char* word);   // whether `paddock mcp WORD` is one of these
int mcp_pins_main(int argc, char** argv);  // argv[0] is the word

}  // namespace paddock::cli

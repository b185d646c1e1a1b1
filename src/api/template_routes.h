// What the native and the E2B side of templates share.
#pragma once

#include "api/routes.h"
#include "template/builder.h"

namespace paddock::api {

Value describe(const store::Template& record);                  // native
Value describe_log(const paddock::templates::BuildLog& entry);  // native and E2B

// Takes the request's body as an archive for COPY steps.
io::Task<Result<void>> take_upload(Call& call, std::string permit);

// The one that the path names, recorded before it goes.
io::Task<Result<void>> remove_template(Call& call);

namespace templates {

io::Task<void> e2b_request(Call& call);
io::Task<void> e2b_begin(Call& call);
io::Task<void> e2b_status(Call& call);
io::Task<void> e2b_files(Call& call);
io::Task<void> e2b_upload(Call& call);
io::Task<void> e2b_alias(Call& call);
io::Task<void> e2b_list(Call& call);
io::Task<void> e2b_look(Call& call);
io::Task<void> e2b_remove(Call& call);
io::Task<void> e2b_tag(Call& call);
io::Task<void> e2b_untag(Call& call);
io::Task<void> e2b_tags(Call& call);

}  // namespace templates

}  // namespace paddock::api

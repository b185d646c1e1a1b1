// K34 i386 program: executes a 32-bit program out of a memfd, whose calls are all of the other architecture.
// layers: seccomp
// process: seccomp
// control: run
#include <elf.h>
#include <sys/mman.h>

#include "hostile.h"

// personality(ADDR_NO_RANDOMIZE); exit(result < 0 ? 0 : 42)
static const unsigned char kCode[] = {
    0xb8, 136, 0, 0, 0,           // mov eax, personality
    0xbb, 0, 0, 4, 0,             // mov ebx, ADDR_NO_RANDOMIZE
    0xcd, 0x80,                   // int 0x80
    0xbb, 42, 0, 0, 0,            // mov ebx, 42
    0x85, 0xc0,                   // test eax, eax
    0x79, 0x02,                   // jns +2
    0x31, 0xdb,                   // xor ebx, ebx
    0xb8, 1, 0, 0, 0,             // mov eax, exit
    0xcd, 0x80,                   // int 0x80
    0x0f, 0x0b,                   // ud2: exit was refused
};

int main(void) {
  enum { kBase = 0x08048000 };
  struct {
    Elf32_Ehdr header;
    Elf32_Phdr segment;
    unsigned char code[sizeof kCode];
  } program = {
      .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_EXEC, .e_machine = EM_386,
                 .e_version = EV_CURRENT, .e_entry = kBase + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr), .e_phoff = sizeof(Elf32_Ehdr),
                 .e_ehsize = sizeof(Elf32_Ehdr), .e_phentsize = sizeof(Elf32_Phdr), .e_phnum = 1},
      .segment = {.p_type = PT_LOAD, .p_vaddr = kBase, .p_paddr = kBase, .p_filesz = sizeof program, .p_memsz = sizeof program,
                  .p_flags = PF_R | PF_X, .p_align = 0x1000},
  };
  memcpy(program.code, kCode, sizeof kCode);
  int fd = memfd_create("i386", 0);
  if (fd == -1) stopped("memfd_create");
  if (write(fd, &program, sizeof program) != sizeof program) stopped("write");
  pid_t child = fork();
  if (child == 0) {
    char* arguments[] = {"i386", NULL};
    char* environment[] = {NULL};
    fexecve(fd, arguments, environment);
    _exit(errno == ENOEXEC ? kCannot : kHeld);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) held("killed by %s", strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == kEscaped) escaped("an i386 program runs without the filter");
  if (WEXITSTATUS(status) == kCannot) cannot("no i386 programs on this kernel");
  held("refused");
}

# make deps   install what a fresh Debian 12 lacks (root)
# make        build/touchstone
# make check  is every schedule still the reference's function, bit for bit?
# make test   cmocka tests under ASan and UBSan, then the grid of streams
# make mutants  plants bugs: is each one seen? (ONLY="NAME..." plants those)
# make fuzz   readers of foreign files against libFuzzer, FUZZ_SECONDS each
# make exhaustive  all f32 through the elementary functions (EXHAUSTIVE="--function exp --stride 257": a short look)
# make nightly  all that takes long: the mutants, fuzz, exhaustive, check --full, and check built by clang
# make neon   the comparison of aarch64 with this machine, built for both (tests/neon/run builds and runs it)
# make bench  a few ratios of speed, and what fell since docs/performance.json
# make golden rewrite our own goldens (a reviewable diff)
# make install PREFIX=/usr/local DESTDIR=   the command, library, header and goldens; make uninstall
ifeq ($(origin CC),default)
CC = gcc
endif
B ?= build
PACKAGES = gcc libc6-dev pkg-config libcmocka-dev libopenblas0-pthread libcjson-dev \
	libpcre2-dev libutf8proc-dev libssl-dev libmpfr-dev patch
LIBRARIES = libcjson libpcre2-8 libutf8proc libcrypto

ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))

# The same bits with and without -mfma; ten times faster with it. Armv8 has it always.
FMA := $(if $(filter x86_64,$(ARCH)),$(shell grep -qw fma /proc/cpuinfo 2>/dev/null && grep -qw avx2 /proc/cpuinfo && echo -mfma -mavx2))
WARN = -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wdouble-promotion -Wstrict-prototypes \
	-Wmissing-prototypes -Werror
BASE = -std=c11 -D_XOPEN_SOURCE=700 -g -O3 -ffp-contract=off -fno-fast-math $(FMA) $(WARN)
CFLAGS ?=
PREFIX ?= /usr/local
DESTDIR ?=
LDLIBS = $(shell pkg-config --libs $(LIBRARIES)) -lm -fopenmp -ldl
LIBCFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(LIBRARIES) 2>/dev/null))

# Schedules of other architectures, what tells their CPUs apart, and the test that turns x86's control word stay out.
FOREIGN_x86_64 = fast/cpu/neon/% fast/cpu/isa_aarch64.c
FOREIGN_aarch64 = fast/cpu/avx2/% fast/cpu/avx512/% fast/cpu/isa_x86_64.c tests/base/test_canary.c

sources = $(sort $(filter-out $(FOREIGN_$(ARCH)),$(shell find $(1) -name '*.c' 2>/dev/null)))
objects = $(patsubst $(2)/%.c,$(B)/$(3)/%.o,$(call sources,$(1)))
BASE_O   = $(call objects,ref/base,ref,base)
REF32_O  = $(call objects,ref/op ref/model,ref,ref32)
REF64_O  = $(call objects,ref/op ref/model,ref,ref64)
DECODE_O = $(call objects,ref/decode,ref,decode)
FAST_O   = $(call objects,fast,fast,fast)
TOOLS_O  = $(call objects,tools,tools,tools)
SWEEP_O  = $(call objects,tests/sweep,tests,tests)
TESTS    = $(patsubst tests/%.c,$(B)/tests/%,$(filter-out $(FOREIGN_$(ARCH)),$(sort $(wildcard tests/*/test_*.c))))
LIB = $(B)/libtouchstone.a
HEADER = $(B)/include/touchstone.h

# Builds on every core, unless the caller gave -j.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

all: need
	@$(MAKE) $(JOBS) --no-print-directory built

deps:
	apt-get update
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(PACKAGES)

# Installs nothing: names the one command for what is missing, and fails.
need:
	@missing=; for c in $(CC) pkg-config; do command -v $$c >/dev/null || missing="$$missing $$c"; done; \
	for l in $(LIBRARIES); do pkg-config --exists $$l 2>/dev/null || missing="$$missing $$l"; done; \
	[ -z "$$missing" ] || { echo "touchstone: missing:$$missing. As root: make deps"; exit 2; }

check: all
	tests/patches
	$(B)/touchstone check

test: all
	@pkg-config --exists cmocka mpfr || { echo "touchstone: missing: cmocka mpfr. As root: make deps"; exit 2; }
	@$(MAKE) $(JOBS) --no-print-directory B=$(B)/san CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all" run-tests
	tests/run $(B) $(patsubst $(B)/%,$(B)/san/%,$(TESTS))

# Every planted bug must turn something red; rewrites docs/mutants.md.
mutants: all
	CC="$(CC)" CFLAGS="$(CFLAGS)" tests/mutate $(B) $(ONLY)

FUZZ_SECONDS ?= 30
FUZZ = $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_CFLAGS = -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
fuzz:
	@if echo 'int LLVMFuzzerTestOneInput(const void *d, long n) { return d && n < 0; }' | \
	clang -x c - -fsanitize=fuzzer,address,undefined -o /dev/null 2>/dev/null; then \
	$(MAKE) $(JOBS) --no-print-directory CC=clang B=$(B)/fuzz CFLAGS="$(FUZZ_CFLAGS)" fuzz-targets && \
	tests/fuzz/run $(B)/fuzz $(FUZZ_SECONDS); \
	else echo "SKIP fuzz: clang or its fuzzer runtime is missing (clang, libclang-rt-dev)"; \
	echo "0 passed, 0 failed, $(words $(FUZZ)) skipped"; exit 2; fi

fuzz-targets: $(FUZZ)

# Rewrites the record and the constants that BOUND takes from it, unless given options: unchanged files say
# that nothing moved.
RECORD = --record golden/own/exhaustive.json --header tools/check/ulp.h
exhaustive: all
	@pkg-config --exists mpfr || { echo "touchstone: missing: mpfr. As root: make deps"; exit 2; }
	@$(MAKE) $(JOBS) --no-print-directory $(B)/tests/exhaustive
	$(B)/tests/exhaustive $(or $(EXHAUSTIVE),$(RECORD))

# A few ratios beside those of docs/performance.json: shows what got slower, on a machine like its own; fails nothing.
BENCH = $(B)/touchstone bench --footprint cache --seconds 0.3
bench: all
	$(BENCH) --op matmul_a64s8 --shape 8,3584,1024 --json $(B)/bench.json
	-$(B)/touchstone bench --compare docs/performance.json $(B)/bench.json --tolerance 0.3

# One tier failing hides no other.
nightly: all
	@failed=; for tier in mutants fuzz exhaustive; do \
	$(MAKE) --no-print-directory $$tier || failed="$$failed $$tier"; done; \
	$(B)/touchstone check --full || failed="$$failed full"; \
	$(MAKE) --no-print-directory CC=clang B=$(B)/clang check || failed="$$failed clang"; \
	[ -z "$$failed" ] && echo "nightly: ok" || { echo "nightly: failed:$$failed"; exit 1; }

golden: all
	$(B)/touchstone golden --commit "$$(git rev-parse HEAD 2>/dev/null)" --flags "$(CC) $(BASE)"

# The library is static: who links it needs what it needs, its compiler's OpenMP runtime included.
OPENMP = $(if $(findstring clang,$(CC)),$$(ldd $(B)/touchstone | sed -n 's/.*=> \(.*libomp[^ ]*\).*/\1/p'),-lgomp)
VERSION = $$(sed -n 's/.*TS_VERSION "\(.*\)"/\1/p' tools/tool.h)
TO = $(DESTDIR)$(PREFIX)
MAN = $(wildcard docs/touchstone.1)
COMPLETION = $(wildcard tools/touchstone.bash-completion)

install: all
	install -d $(TO)/bin $(TO)/lib/pkgconfig $(TO)/include $(DESTDIR)$(SHARE)
	install -m 755 $(B)/touchstone $(TO)/bin/touchstone
	install -m 644 $(LIB) $(TO)/lib/libtouchstone.a
	install -m 644 $(HEADER) $(TO)/include/touchstone.h
	sed -e "s|@PREFIX@|$(PREFIX)|; s|@LIBRARIES@|$(LIBRARIES)|; s|@VERSION@|$(VERSION)|; s|@OPENMP@|$(OPENMP)|" \
		tools/touchstone.pc.in > $(TO)/lib/pkgconfig/touchstone.pc
	rm -rf $(DESTDIR)$(SHARE)/golden
	cp -R golden $(DESTDIR)$(SHARE)/golden
	$(if $(MAN),install -D -m 644 $(MAN) $(TO)/share/man/man1/touchstone.1)
	$(if $(COMPLETION),install -D -m 644 $(COMPLETION) $(TO)/share/bash-completion/completions/touchstone)

uninstall:
	rm -f $(TO)/bin/touchstone $(TO)/lib/libtouchstone.a $(TO)/lib/pkgconfig/touchstone.pc $(TO)/include/touchstone.h \
		$(TO)/share/man/man1/touchstone.1 $(TO)/share/bash-completion/completions/touchstone
	rm -rf $(DESTDIR)$(SHARE)

clean:
	rm -rf $(B)

# Rooms: what each may include. -I names the rooms; the dependency file proves it,
# however the include was spelled.
$(B)/base/%.o:   ROOM = ref/base
$(B)/ref32/%.o:  ROOM = ref/base $(if $(findstring /model/,$@),ref/op ref/model,ref/op)
$(B)/ref64/%.o:  ROOM = ref/base $(if $(findstring /model/,$@),ref/op ref/model,ref/op)
$(B)/decode/%.o: ROOM = ref/base ref/op ref/model ref/decode
$(B)/fast/%.o:   ROOM = ref/base kernels fast
$(B)/tools/%.o:  ROOM = ref/base ref/op ref/model ref/decode kernels fast tools
$(B)/tests/%.o:  ROOM = ref/base ref/op ref/model ref/decode kernels fast tools tests
$(B)/ref32/%.o:  EXTRA = -DTS_PRECISION=32 -fvisibility=hidden
$(B)/ref64/%.o:  EXTRA = -DTS_PRECISION=64 -fvisibility=hidden
$(B)/fast/%.o $(B)/tools/%.o $(B)/tests/sweep/%.o: EXTRA = -fopenmp
AVX2 = -mavx2 -mfma
AVX512 = $(AVX2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mgfni -mprefer-vector-width=512
$(B)/fast/cpu/avx2/%.o: EXTRA = -fopenmp $(AVX2)
$(B)/fast/cpu/avx512/%.o: EXTRA = -fopenmp $(AVX512)
$(B)/fast/cpu/neon/%.o: EXTRA = -fopenmp -march=armv8.2-a+dotprod

empty :=
space := $(empty) $(empty)
Q ?= @
define compile
@mkdir -p $(@D)
$(if $(Q),@echo "  CC $<")
$(Q)$(CC) $(BASE) $(CFLAGS) $(EXTRA) $(addprefix -I,$(ROOM)) $(LIBCFLAGS) -MMD -MP -c $< -o $@
@tests/room '$(subst $(space),|,$(strip $(ROOM)))' $(@:.o=.d) || { rm -f $@; exit 1; }
endef

$(B)/base/%.o: ref/%.c ; $(compile)
$(B)/ref32/%.o: ref/%.c ; $(compile)
$(B)/ref64/%.o: ref/%.c ; $(compile)
$(B)/decode/%.o: ref/%.c ; $(compile)
$(B)/fast/%.o: fast/%.c ; $(compile)
$(B)/tools/%.o: tools/%.c ; $(compile)
$(B)/tests/%.o: tests/%.c ; $(compile)

# Another compiler or other flags: everything anew.
STAMP = $(B)/flags
$(STAMP): FORCE
	@mkdir -p $(B); echo '$(CC) $(BASE) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(BASE) $(CFLAGS)' > $@
FORCE:
$(BASE_O) $(REF32_O) $(REF64_O) $(DECODE_O) $(FAST_O) $(TOOLS_O) $(SWEEP_O) $(addsuffix .o,$(TESTS) $(FUZZ) $(B)/tests/exhaustive) $(B)/tests/fuzz/input.o: $(STAMP)

# The one file that knows where `make install` puts the goldens.
SHARE = $(PREFIX)/share/touchstone
$(B)/tools/golden_folder.o: EXTRA += -DTS_INSTALLED_GOLDEN='"$(SHARE)/golden"'
$(B)/tools/golden_folder.o: $(B)/prefix
$(B)/prefix: FORCE
	@mkdir -p $(B); echo '$(PREFIX)' | cmp -s - $@ || echo '$(PREFIX)' > $@

# The public header in one piece.
HEADER_ROOMS = ref/base ref/model fast tools
$(HEADER): tools/touchstone.h tools/assemble $(wildcard $(foreach d,$(HEADER_ROOMS),$(d)/*.h $(d)/*/*.h))
	@mkdir -p $(@D)
	$(Q)tools/assemble tools/touchstone.h $(HEADER_ROOMS) > $@.tmp && mv $@.tmp $@

# One object per precision; only its table of functions stays visible.
$(B)/ref32.o: $(REF32_O)
$(B)/ref64.o: $(REF64_O)
$(B)/ref32.o $(B)/ref64.o:
	$(Q)ld -r -o $@.tmp $^
	$(Q)objcopy --localize-hidden $@.tmp $@
	@rm $@.tmp

$(LIB): $(BASE_O) $(B)/ref32.o $(B)/ref64.o $(DECODE_O) $(FAST_O) $(filter-out $(B)/tools/main.o,$(TOOLS_O))
	@rm -f $@
	$(Q)ar rcs $@ $^

$(B)/touchstone: $(B)/tools/main.o $(LIB)
	$(if $(Q),@echo "  LD $@")
	$(Q)$(CC) $(CFLAGS) $^ $(LDLIBS) -o $@

$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(B)/tests/fuzz/input.o $(LIB)
	$(if $(Q),@echo "  LD $@")
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $^ $(LDLIBS) -o $@

$(B)/tests/%: $(B)/tests/%.o $(LIB)
	$(if $(Q),@echo "  LD $@")
	$(Q)$(CC) $(CFLAGS) $(filter %.o,$^) $(LIB) $(LDLIBS) -lcmocka -lmpfr -o $@

$(B)/tests/exhaustive $(B)/tests/op/test_exhaustive: $(SWEEP_O)

# What `all` makes; the no-op silences "is up to date".
built: $(B)/touchstone $(HEADER)
	@:

# What two architectures compare: ref32 and the schedules, without anything that needs a library.
COMPARE_O = $(call objects,tests/neon,tests,tests) $(call objects,ref/op,ref,ref32) $(filter-out $(B)/fast/engine%,$(FAST_O)) \
	$(patsubst %,$(B)/base/base/%.o,num/coef num/convert num/exp_cr num/generate num/philox num/status num/canary case/op format/block format/ggml_type)
$(B)/tests/neon/compare: $(COMPARE_O)
	$(if $(Q),@echo "  LD $@")
	$(Q)$(CC) $(CFLAGS) $(STATIC) $^ -lm -fopenmp -o $@

# The same program for this machine and for aarch64, to run under qemu-aarch64 (tests/neon/run).
CROSS = aarch64-linux-gnu-gcc
neon:
	@$(MAKE) $(JOBS) --no-print-directory $(B)/tests/neon/compare
	@$(MAKE) $(JOBS) --no-print-directory CC=$(CROSS) B=$(B)/neon LIBRARIES= STATIC=-static $(B)/neon/tests/neon/compare

run-tests: $(B)/touchstone $(TESTS)

.PHONY: all built deps need check test mutants fuzz fuzz-targets exhaustive bench nightly golden install uninstall clean run-tests neon
.PRECIOUS: $(B)/tests/%.o
-include $(shell find $(B) -name '*.d' 2>/dev/null)

build-clang/tools/diff.o: tools/diff.c tools/diff.h tools/compare.h \
  ref/base/num/dtype.h ref/base/num/status.h \
  ref/base/format/safetensors.h tools/options.h tools/tool.h \
  ref/base/trace/trace.h

tools/diff.h:

tools/compare.h:

ref/base/num/dtype.h:

ref/base/num/status.h:

ref/base/format/safetensors.h:

tools/options.h:

tools/tool.h:

ref/base/trace/trace.h:

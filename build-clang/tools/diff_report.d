build-clang/tools/diff_report.o: tools/diff_report.c tools/diff.h \
  tools/compare.h ref/base/num/dtype.h ref/base/num/status.h \
  ref/base/format/safetensors.h tools/tool.h

tools/diff.h:

tools/compare.h:

ref/base/num/dtype.h:

ref/base/num/status.h:

ref/base/format/safetensors.h:

tools/tool.h:

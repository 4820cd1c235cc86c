build-clang/tools/check/inputs.o: tools/check/inputs.c \
  tools/check/inputs.h ref/base/case/args.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/real.h ref/base/num/status.h \
  ref/base/num/convert.h ref/base/num/generate.h \
  ref/base/num/rope_table.h

tools/check/inputs.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/status.h:

ref/base/num/convert.h:

ref/base/num/generate.h:

ref/base/num/rope_table.h:

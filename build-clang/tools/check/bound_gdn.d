build-clang/tools/check/bound_gdn.o: tools/check/bound_gdn.c \
  tools/check/bound_op.h ref/base/case/args.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/real.h tools/check/err.h \
  ref/base/num/status.h

tools/check/bound_op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

tools/check/err.h:

ref/base/num/status.h:

build-clang/tools/check/bound_norm.o: tools/check/bound_norm.c \
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

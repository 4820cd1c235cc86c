build-clang/ref32/op/silu.o: ref/op/silu.c ref/op/op.h \
  ref/base/case/args.h ref/base/format/matrix.h ref/base/num/dtype.h \
  ref/base/num/real.h ref/base/case/op.h

ref/op/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/case/op.h:
